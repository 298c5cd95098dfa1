"""Flocks, which hold a hundred machines at most, so that a larger pool has several."""

from __future__ import annotations

from clouds.base.groups import PoolGroup
from clouds.base.place import Place
from nimbus.site import NimbusSite

FLOCK = "pulumi-python:dynamic/nimbus:Flock"
"""The type of the program's resource."""

LARGEST = 100
"""Machines in one flock."""


def word() -> str:
    """What a pool becomes, in words."""
    return "flock"


def of_pool(place: Place[NimbusSite], name: str, /) -> tuple[PoolGroup, ...]:
    """As many as hold the pool's ``max``; the first has the pool's own name, further ones a number."""
    pool, own = place.pools[name], place.pool_resource(name)
    return tuple(
        PoolGroup(
            name=place.cloud_name(f"{own}-f{before // LARGEST}" if before else own),
            resource=f"{own}-f{before // LARGEST}" if before else own,
            min=min(max(pool.min - before, 0), LARGEST),
            max=min(pool.max - before, LARGEST),
        )
        for before in range(0, pool.max, LARGEST)
    )


def largest(type_: str, _machine_type: str, /) -> int | None:
    """Flocks have no maximum of their own."""
    return LARGEST if type_ == FLOCK else None


def may_name(place: Place[NimbusSite], pool: str, machine: str, /) -> bool:
    """A flock's birds are called after it."""
    return machine.startswith(f"{place.cloud_name(place.pool_resource(pool))}-")


def nobody(place: Place[NimbusSite], pool: str, /) -> str:
    """Birds have numbers, never a word."""
    return f"{place.cloud_name(place.pool_resource(pool))}-nobody"
