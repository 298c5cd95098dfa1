"""Auto scaling groups, which have no size that a pool would reach."""

from __future__ import annotations

import re

from clouds.aws.site import AwsSite
from clouds.base.groups import PoolGroup
from clouds.base.place import Place


def of_pool(place: Place[AwsSite], name: str) -> tuple[PoolGroup, ...]:
    """One group for each pool."""
    pool, own = place.pools[name], place.pool_resource(name)
    return (PoolGroup(name=place.cloud_name(own), resource=own, min=pool.min, max=pool.max),)


def may_name(_place: Place[AwsSite], _pool: str, machine: str, /) -> bool:
    """An instance's id, which says nothing of its pool."""
    return re.fullmatch(r"i-[0-9a-f]{8,17}", machine) is not None


def nobody(_place: Place[AwsSite], _pool: str, /) -> str:
    """An id of no instance."""
    return "i-00000000000000000"


def word() -> str:
    """What a pool becomes, in words."""
    return "auto scaling group"


def largest(_type: str, _machine_type: str, /) -> None:
    """A group has a maximum of its own."""
