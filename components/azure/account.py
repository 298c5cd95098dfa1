"""Sites on Azure, and who administers their machines."""

from __future__ import annotations

from clouds.azure.site import AzureSite
from components.model import Environment

ADMINISTRATOR = "longhaul"
"""User that Azure wants on every machine."""


def azure_site(environment: Environment, name: str) -> AzureSite:
    """The site called ``name``; ``TypeError`` when it is not on Azure."""
    site = environment.sites[name]
    if not isinstance(site, AzureSite):
        raise TypeError(f"site {name} is {site.kind}, not azure")
    return site
