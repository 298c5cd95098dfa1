"""Auto scaling groups. No pool reaches the largest size of one, so each pool has one group."""

from __future__ import annotations

import re

from clouds.aws.site import AwsSite
from clouds.base.groups import PoolGroup
from clouds.base.place import Place


def of_pool(place: Place[AwsSite], name: str) -> tuple[PoolGroup, ...]:
    """Return one group for the pool."""
    pool, own = place.pools[name], place.pool_resource(name)
    return (PoolGroup(name=place.cloud_name(own), resource=own, min=pool.min, max=pool.max),)


def may_name(_place: Place[AwsSite], _pool: str, machine: str, /) -> bool:
    """Return whether the name has the form of an instance id. The id does not tell the pool."""
    return re.fullmatch(r"i-[0-9a-f]{8,17}", machine) is not None


def unused_name(_place: Place[AwsSite], _pool: str, /) -> str:
    """Return an id that no instance has."""
    return "i-00000000000000000"


def word() -> str:
    """Return ``auto scaling group``."""
    return "auto scaling group"


def largest(_type: str, _machine_type: str, /) -> None:
    """Return None, because each group has a maximum of its own."""
