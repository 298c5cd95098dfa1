"""Names of Azure resources, written once: the program makes them, the operator's command looks for them."""

from __future__ import annotations

from components.model import Environment, vault_name

ADMINISTRATOR = "longhaul"
"""User that Azure wants on every machine."""


def resource_group(environment: Environment, site: str) -> str:
    """The group that holds everything of one site."""
    return f"{environment.name}-{site}"


def vault_url(environment: Environment) -> str:
    """Address of the environment's vault."""
    return f"https://{vault_name(environment)}.vault.azure.net"


def tags(environment: Environment, site: str) -> dict[str, str]:
    """Tags of every resource of a site."""
    return {**environment.tags, "longhaul-environment": environment.name, "longhaul-site": site}
