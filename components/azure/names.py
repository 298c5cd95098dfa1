"""Names of Azure resources, written once: the program makes them, the operator's command looks for them."""

from __future__ import annotations

from components.model import Environment
from components.model.groups import resource_group

__all__ = ["ADMINISTRATOR", "resource_group", "tags"]

ADMINISTRATOR = "longhaul"
"""User that Azure wants on every machine."""


def tags(environment: Environment, site: str) -> dict[str, str]:
    """Tags of every resource of a site."""
    return {**environment.tags, "longhaul-environment": environment.name, "longhaul-site": site}
