"""The environment: every value that a human chooses, checked once, and everything that is computed from these values.

Nothing here imports Pulumi or touches a network.
"""

from components.model.control_plane.machines import Machine, Role, control_machines
from components.model.environment import Environment
from components.model.loading.errors import ConfigurationError, Problem
from components.model.loading.load import load, load_directory, parse
from components.model.network.address_plan import AddressPlan, SitePlan, plan
from components.model.secrets.certificates import Authority, Certificate, Usage, authorities, certificates
from components.model.secrets.vault import SharedSecret, shared_secrets, vault_name

__all__ = [
    "AddressPlan",
    "Authority",
    "Certificate",
    "ConfigurationError",
    "Environment",
    "Machine",
    "Problem",
    "Role",
    "SharedSecret",
    "SitePlan",
    "Usage",
    "authorities",
    "certificates",
    "control_machines",
    "load",
    "load_directory",
    "parse",
    "plan",
    "shared_secrets",
    "vault_name",
]
