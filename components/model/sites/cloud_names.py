"""Names of an environment's resources in the clouds, and the groups that its pools consist of."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.faults import Fault
from clouds.base.groups import PoolGroup
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.sites.places import name_prefix, place_of


def cloud_name(environment: Environment, name: str) -> str:
    """Return the name, in a cloud, of a resource that Longhaul calls ``name``."""
    return f"{name_prefix(environment)}{name}"


def pool_resource(environment: Environment, pool: str) -> str:
    """Return the name of a pool in the program."""
    return f"{environment.name}-{pool}"


def pool_group(environment: Environment, pool: str) -> str:
    """Return the name, in a cloud, of a pool's group; of the first group where a pool has several."""
    return cloud_name(environment, pool_resource(environment, pool))


def pool_groups(environment: Environment, pool: str) -> tuple[PoolGroup, ...]:
    """Return a pool's groups, in the order in which they are filled."""
    place = place_of(environment, environment.pools[pool].site)
    return cloud_of(place.site).groups.of_pool(place, pool)


def check_sets(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pool whose name clashes with a further scale set of another pool. Longhaul derives the
    names of further scale sets."""
    for name, pool in environment.pools.items():
        if pool.site not in environment.sites:
            continue
        taken = {group.name for group in pool_groups(environment, name)[1:]}
        for other in environment.pools:
            if pool_group(environment, other) in taken:
                wrong = f"{pool_group(environment, other)!r} is a scale set of pool {name}, which takes several"
                yield Fault(at=("pools", other), wrong=wrong, write="another name", basis=(("pools", name, "max"),))
