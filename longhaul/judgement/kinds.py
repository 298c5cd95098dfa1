"""Maps the type of a resource to its kind: its function in the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from clouds.base.kinds import Kind, without_version
from clouds.registry import clouds
from longhaul.judgement.changes import Change

_OWN = "pulumi-python:dynamic/longhaul:"

_KINDS_OF_OUR_OWN: Mapping[str, Kind] = {
    f"{_OWN}CertificateAuthority": Kind.AUTHORITY,
    f"{_OWN}Secret": Kind.KEY,
    f"{_OWN}Certificate": Kind.CERTIFICATE,
    f"{_OWN}TunnelKey": Kind.TUNNEL,
    f"{_OWN}DestructionGuard": Kind.GUARD,
    f"{_OWN}Readiness": Kind.QUIET,
    f"{_OWN}Founded": Kind.QUIET,
    f"{_OWN}VaultAccess": Kind.QUIET,
    f"{_OWN}Held": Kind.QUIET,
}
"""The program's dynamic types that matter to a verdict; each cloud declares its own types. A test checks all types
against a real preview."""


@cache
def _kinds() -> Mapping[str, Kind]:
    of_clouds = (cloud.resources.kinds() for cloud in clouds().values())
    return {**_KINDS_OF_OUR_OWN, **{token: kind for one in of_clouds for token, kind in one.items()}}


def is_group(change: Change) -> bool:
    """Return whether the resource is a component, a stack or a provider of the engine: none of these exists in a
    cloud."""
    return not change.custom or change.type.startswith("pulumi:")


def kind_of(change: Change) -> Kind:
    """Return the kind of a resource; groups of resources are ``QUIET``."""
    if is_group(change):
        return Kind.QUIET
    return _kinds().get(without_version(change.type), Kind.OTHER)


def is_whole_network(change: Change) -> bool:
    """Return whether it is the whole network of a site, such as a VPC, and not a part of one."""
    type_ = without_version(change.type)
    return kind_of(change) is Kind.NETWORK and any(type_ in cloud.resources.lasting() for cloud in clouds().values())
