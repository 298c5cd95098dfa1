"""Names of Azure resources, written once: the program makes them, the operator's command looks for them."""

from __future__ import annotations

from components.model import Environment

ADMINISTRATOR = "longhaul"
"""User that Azure wants on every machine."""


def resource_group(environment: Environment, site: str) -> str:
    """The group that holds everything of one site."""
    return f"{environment.name}-{site}"


def tags(environment: Environment, site: str) -> dict[str, str]:
    """Tags of every resource of a site."""
    return {**environment.tags, "longhaul-environment": environment.name, "longhaul-site": site}
