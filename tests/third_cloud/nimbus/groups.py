"""Flocks, which hold at most a hundred machines each, so that a larger pool has several."""

from __future__ import annotations

from clouds.base.groups import PoolGroup
from clouds.base.place import Place
from nimbus.site import NimbusSite

FLOCK = "pulumi-python:dynamic/nimbus:Flock"
"""Type of the program's resource."""

LARGEST = 100
"""Maximum number of machines in one flock."""


def word() -> str:
    """Return the word for what a pool becomes."""
    return "flock"


def of_pool(place: Place[NimbusSite], name: str, /) -> tuple[PoolGroup, ...]:
    """Return enough flocks for the pool's ``max``. The first has the pool's own name, further ones a number."""
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
    """Return the maximum size of a flock, whatever its machine type; None for other resources."""
    return LARGEST if type_ == FLOCK else None


def may_name(place: Place[NimbusSite], pool: str, machine: str, /) -> bool:
    """Return whether the machine may be the pool's: a bird's name begins with its flock's."""
    return machine.startswith(f"{place.cloud_name(place.pool_resource(pool))}-")


def unused_name(place: Place[NimbusSite], pool: str, /) -> str:
    """Return a name that no machine has: birds end with numbers, never with a word."""
    return f"{place.cloud_name(place.pool_resource(pool))}-nobody"
