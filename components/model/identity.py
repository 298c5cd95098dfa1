"""Whose identities AWS believes: those of the control plane's Entra tenant."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.azure.site import AzureSite
from clouds.base.fault import Fault
from components.model.environment import Environment

HOST = "sts.windows.net"
"""Where Entra's tokens say that they come from (their claim ``iss``)."""


def issuer(site: AzureSite) -> str:
    """The issuer of the tokens of machines on ``site``, as AWS names it: without the scheme."""
    return f"{HOST}/{site.tenant}/"


def check_identity(environment: Environment) -> Iterator[Fault]:
    """The identity provider that is there already has to be the tenant's."""
    given = environment.access.aws_identity_provider
    name = environment.control_plane.site
    site = environment.sites.get(name)
    if given is None or not isinstance(site, AzureSite):
        return
    head, _, tail = given.partition(":oidc-provider/")
    if tail != issuer(site):
        wrong = f"{tail!r} is not the issuer of the control plane's tenant"
        basis = (("sites", name, "tenant"),)
        write = f"{head}:oidc-provider/{issuer(site)}"
        yield Fault(at=("access", "aws_identity_provider"), wrong=wrong, write=write, basis=basis)
