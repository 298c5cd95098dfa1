"""Names of an environment's storage for backups, and the settings that its members get."""

from __future__ import annotations

import json

from components.model.backups.section import Backups
from components.model.control_plane.machines import Machine, Role
from components.model.environment import Environment
from components.model.secrets.vault import vault_name

SECRET = "backups"  # noqa: S105  (the name of a secret, not its value)
"""Name of the vault's secret from which members learn where their backups go, and for whom they are encrypted."""

FORMAT = 1
"""Version of that secret's content. A member ignores what it does not know."""


def prefix_of(role: Role) -> str:
    """Return the beginning of the names of an etcd cluster's backups, in each container."""
    return f"{role}/"


def names_of(member: Machine) -> str:
    """Return the pattern of the names of a member's backups, with Azure's wildcard: a member may make no others. The
    member writes the names (images/rootfs, backup/counted.py)."""
    return f"{prefix_of(member.role)}*-{member.name}.db.gz.age"


def account_name(environment: Environment) -> str:
    """Return the storage account's name: the vault's without hyphens, since Azure takes 3 to 24 lower-case letters and
    digits, unique in the world (learn.microsoft.com, "Storage account overview")."""
    return vault_name(environment).replace("-", "")


def account_url(environment: Environment) -> str:
    """Return the address of the account's blobs."""
    return f"https://{account_name(environment)}.blob.core.windows.net"


def settings(environment: Environment, backups: Backups) -> str:
    """Return the content of the secret :data:`SECRET`. Nothing in it is confidential; it is in the vault because only
    officers write there, and a member must not encrypt for a stranger. A change of it changes no machine."""
    return json.dumps(
        {
            "format": FORMAT,
            "environment": environment.name,
            "url": account_url(environment),
            "recipients": list(backups.recipients),
            "every_s": 60 * backups.every_minutes,
        }
    )
