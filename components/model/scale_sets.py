"""How many machines one of Azure's scale sets holds, and so how many of them a pool takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clouds.azure.site import AzureSite
from clouds.base.fault import Fault
from components.model.environment import Environment
from components.model.groups import pool_group, pool_resource

LARGEST_SET = 1000
"""Machines in one scale set from a gallery image (learn.microsoft.com, "Virtual Machine Scale Sets and placement
groups")."""

LARGEST_PLACEMENT_GROUP = 100
"""Machines in one placement group (same page), which InfiniBand does not leave."""


@dataclass(frozen=True, kw_only=True)
class PoolGroup:
    """One auto scaling group or scale set of a pool."""

    name: str
    """What the cloud calls it, and what its machines' names begin with on Azure."""
    resource: str
    """What the program calls it."""
    min: int
    """Machines that it begins with."""
    max: int
    """Machines that it may have."""


def has_infiniband(machine_type: str) -> bool:
    """Whether a type's machines are joined by InfiniBand: an ``r`` among the features in its name (learn.microsoft.com,
    "Azure virtual machine sizes naming conventions")."""
    features = re.fullmatch(r"Standard_[A-Z]+\d+(?:-\d+)?([a-z]*)(?:_.*)?", machine_type)
    return features is not None and "r" in features[1]


def largest_set(machine_type: str) -> int:
    """Machines that one scale set of a type can hold."""
    return LARGEST_PLACEMENT_GROUP if has_infiniband(machine_type) else LARGEST_SET


def pool_groups(environment: Environment, pool_name: str) -> tuple[PoolGroup, ...]:
    """A pool's groups: on AWS one, which has no such limit; on Azure as many scale sets as hold its ``max``.

    The first has the pool's own name, further ones a number; each is filled before the next. So none changes when
    ``max`` grows but the last, and what is added has a new name.
    """
    pool, first = environment.pools[pool_name], pool_group(environment, pool_name)
    own = pool_resource(environment, pool_name)
    if not isinstance(environment.sites[pool.site], AzureSite):
        return (PoolGroup(name=first, resource=own, min=pool.min, max=pool.max),)
    most = largest_set(pool.machine_type)
    return tuple(
        PoolGroup(
            name=f"{first}-s{before // most}" if before else first,
            resource=f"{own}-s{before // most}" if before else own,
            min=min(max(pool.min - before, 0), most),
            max=min(pool.max - before, most),
        )
        for before in range(0, pool.max, most)
    )


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
