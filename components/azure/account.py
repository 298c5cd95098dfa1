"""Sites on Azure, and the administrator of their machines."""

from __future__ import annotations

from clouds.azure.site import AzureSite
from components.model import Environment

ADMINISTRATOR = "longhaul"
"""Name of the user that Azure requires on every machine."""


def azure_site(environment: Environment, name: str) -> AzureSite:
    """Return the site called ``name``; raise ``TypeError`` when it is not on Azure."""
    site = environment.sites[name]
    if not isinstance(site, AzureSite):
        raise TypeError(f"site {name} is {site.kind}, not azure")
    return site
