"""Names that clouds know an environment's resources by, and the groups that its pools become."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.fault import Fault
from clouds.base.groups import PoolGroup
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.places import name_prefix, place_of


def cloud_name(environment: Environment, name: str) -> str:
    """What a cloud calls a resource that Longhaul calls ``name``."""
    return f"{name_prefix(environment)}{name}"


def pool_resource(environment: Environment, pool: str) -> str:
    """What the program calls a pool."""
    return f"{environment.name}-{pool}"


def pool_group(environment: Environment, pool: str) -> str:
    """What a cloud calls a pool's group, the first where there are several."""
    return cloud_name(environment, pool_resource(environment, pool))


def pool_groups(environment: Environment, pool: str) -> tuple[PoolGroup, ...]:
    """A pool's groups, each to be filled before the next."""
    place = place_of(environment, environment.pools[pool].site)
    return cloud_of(place.site).groups.of_pool(place, pool)


def check_sets(environment: Environment) -> Iterator[Fault]:
    """What is wrong with pools' names where a pool takes several sets: the further ones' names are of our making."""
    for name, pool in environment.pools.items():
        if pool.site not in environment.sites:
            continue
        taken = {group.name for group in pool_groups(environment, name)[1:]}
        for other in environment.pools:
            if pool_group(environment, other) in taken:
                wrong = f"{pool_group(environment, other)!r} is a scale set of pool {name}, which takes several"
                yield Fault(at=("pools", other), wrong=wrong, write="another name", basis=(("pools", name, "max"),))
