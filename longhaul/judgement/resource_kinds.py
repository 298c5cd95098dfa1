"""Maps the type of a resource to its kind: its function in the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from clouds.base.resource_types import ResourceKind, without_version
from clouds.registry import clouds
from longhaul.judgement.changes import Change

_OWN = "pulumi-python:dynamic/longhaul:"

_KINDS_OF_OUR_OWN: Mapping[str, ResourceKind] = {
    f"{_OWN}CertificateAuthority": ResourceKind.AUTHORITY,
    f"{_OWN}Secret": ResourceKind.KEY,
    f"{_OWN}Certificate": ResourceKind.CERTIFICATE,
    f"{_OWN}TunnelKey": ResourceKind.TUNNEL,
    f"{_OWN}DestructionGuard": ResourceKind.GUARD,
    f"{_OWN}Readiness": ResourceKind.QUIET,
    f"{_OWN}Founded": ResourceKind.QUIET,
    f"{_OWN}VaultAccess": ResourceKind.QUIET,
    f"{_OWN}Held": ResourceKind.QUIET,
}
"""The program's dynamic types that matter to a verdict; each cloud declares its own types. A test checks all types
against a real preview."""


@cache
def _kinds() -> Mapping[str, ResourceKind]:
    of_clouds = (cloud.resources.kinds() for cloud in clouds().values())
    return {**_KINDS_OF_OUR_OWN, **{token: kind for of_cloud in of_clouds for token, kind in of_cloud.items()}}


def is_group(change: Change) -> bool:
    """Return whether the resource is a component, a stack or a provider of the engine, none of which exists in a
    cloud."""
    return not change.custom or change.type.startswith("pulumi:")


def kind_of(change: Change) -> ResourceKind:
    """Return the kind of a resource; groups of resources are ``QUIET``."""
    if is_group(change):
        return ResourceKind.QUIET
    return _kinds().get(without_version(change.type), ResourceKind.OTHER)


def is_whole_network(change: Change) -> bool:
    """Return whether the resource is the whole network of a site, such as a VPC, and not a part of one."""
    type_ = without_version(change.type)
    return kind_of(change) is ResourceKind.NETWORK and any(
        type_ in cloud.resources.lasting() for cloud in clouds().values()
    )
