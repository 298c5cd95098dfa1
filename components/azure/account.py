"""Sites on Azure, and the administrator of their machines."""

from __future__ import annotations

from clouds.azure.site import AzureSite
from components.model import Environment
from contract.project import PROJECT

ADMINISTRATOR = PROJECT
"""Name of the user that Azure requires on every machine."""

IDENTITY = ["identity"]
"""Property of machines that is set at their creation only. Companies' policies add identities to machines; a later
write, which lists only the machine's own identity, would remove them."""


def azure_site(environment: Environment, name: str) -> AzureSite:
    """Return the site called ``name``; raise ``TypeError`` when it is not on Azure."""
    site = environment.sites[name]
    if not isinstance(site, AzureSite):
        raise TypeError(f"site {name} is {site.kind}, not azure")
    return site
