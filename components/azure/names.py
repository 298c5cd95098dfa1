"""Names of Azure resources, written once: the program makes them, the operator's command looks for them."""

from __future__ import annotations

from clouds.azure.existing import AzureExisting
from clouds.azure.site import AzureSite
from components.model import Environment

ADMINISTRATOR = "longhaul"
"""User that Azure wants on every machine."""


def tags(environment: Environment, site: str) -> dict[str, str]:
    """Tags of every resource of a site."""
    return {**environment.tags, "longhaul-environment": environment.name, "longhaul-site": site}


def azure_existing(environment: Environment, site: str) -> AzureExisting:
    """What a site has in Azure already; ``TypeError`` when it is not on Azure."""
    declared = environment.sites[site]
    if not isinstance(declared, AzureSite):
        raise TypeError(f"site {site} is {declared.kind}, not azure")
    return declared.existing
