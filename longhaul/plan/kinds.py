"""What a resource is to the cluster, by its type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from clouds.base.kinds import Kind, without_version
from clouds.registry import clouds
from longhaul.plan.changes import Change

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
"""The program's dynamic types that matter to a verdict; clouds say theirs. A test holds all of them against a real
preview."""


@cache
def _kinds() -> Mapping[str, Kind]:
    of_clouds = (cloud.resources.kinds() for cloud in clouds().values())
    return {**_KINDS_OF_OUR_OWN, **{token: kind for one in of_clouds for token, kind in one.items()}}


def is_group(change: Change) -> bool:
    """Whether it is a component, a stack or a provider of the engine's: nothing in a cloud."""
    return not change.custom or change.type.startswith("pulumi:")


def kind_of(change: Change) -> Kind:
    """What a resource is to the cluster; groups of resources are nothing by themselves."""
    if is_group(change):
        return Kind.QUIET
    return _kinds().get(without_version(change.type), Kind.OTHER)


def is_whole_network(change: Change) -> bool:
    """Whether it is all of a site's network, not a part of one."""
    type_ = without_version(change.type)
    return any(
        cloud.resources.kinds().get(type_) is Kind.NETWORK and type_ in cloud.resources.lasting()
        for cloud in clouds().values()
    )
