"""Check of the identities that AWS trusts: they must be of the control plane's Entra tenant."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault
from clouds.registry import cloud_of
from components.model.environment import Environment


def check_identity(environment: Environment) -> Iterator[Fault]:
    """Yield a fault when the existing identity provider is not for the control plane's tenant."""
    given = environment.access.aws_identity_provider
    name = environment.control_plane.site
    site = environment.sites.get(name)
    issuer = None if site is None else cloud_of(site).token_issuer(site)
    if given is None or issuer is None:
        return
    head, _, tail = given.partition(":oidc-provider/")
    if tail != issuer:
        wrong = f"{tail!r} is not the issuer of the control plane's tenant"
        basis = (("sites", name, "tenant"),)
        write = f"{head}:oidc-provider/{issuer}"
        yield Fault(at=("access", "aws_identity_provider"), wrong=wrong, write=write, basis=basis)
