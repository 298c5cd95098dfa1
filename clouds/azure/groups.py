"""Scale sets: how many machines one holds, and so how many of them a pool takes."""

from __future__ import annotations

import re

from clouds.azure.site import AzureSite
from clouds.base.groups import PoolGroup
from clouds.base.kinds import without_version
from clouds.base.place import Place

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
"""The type of the program's resource."""

LARGEST_SET = 1000
"""Machines in one scale set from a gallery image (learn.microsoft.com, "Virtual Machine Scale Sets and placement
groups")."""

LARGEST_PLACEMENT_GROUP = 100
"""Machines in one placement group (same page), which InfiniBand does not leave."""


def has_infiniband(machine_type: str) -> bool:
    """Whether a type's machines are joined by InfiniBand: an ``r`` among the features in its name (learn.microsoft.com,
    "Azure virtual machine sizes naming conventions")."""
    features = re.fullmatch(r"Standard_[A-Z]+\d+(?:-\d+)?([a-z]*)(?:_.*)?", machine_type)
    return features is not None and "r" in features[1]


def largest_set(machine_type: str) -> int:
    """Machines that one scale set of a type can hold."""
    return LARGEST_PLACEMENT_GROUP if has_infiniband(machine_type) else LARGEST_SET


def of_pool(place: Place[AzureSite], name: str) -> tuple[PoolGroup, ...]:
    """As many scale sets as hold the pool's ``max``.

    The first has the pool's own name, further ones a number; each is filled before the next. So none changes when
    ``max`` grows but the last, and what is added has a new name.
    """
    pool, own = place.pools[name], place.pool_resource(name)
    most = largest_set(pool.machine_type)
    resources = {before: f"{own}-s{before // most}" if before else own for before in range(0, pool.max, most)}
    return tuple(
        PoolGroup(
            name=place.cloud_name(resource),
            resource=resource,
            min=min(max(pool.min - before, 0), most),
            max=min(pool.max - before, most),
        )
        for before, resource in resources.items()
    )


def may_name(place: Place[AzureSite], pool: str, machine: str) -> bool:
    """A scale set's machines begin as its first set does."""
    return machine.startswith(place.cloud_name(place.pool_resource(pool)))


def nobody(place: Place[AzureSite], pool: str) -> str:
    """Uniform scale sets add six characters to their name (learn.microsoft.com, "osProfile.computerNamePrefix")."""
    return f"{of_pool(place, pool)[0].name}zzzzzz"


def word() -> str:
    """What a pool becomes, in words."""
    return "scale set"


def largest(type_: str, machine_type: str) -> int | None:
    """Scale sets have no maximum of their own."""
    return largest_set(machine_type) if without_version(type_) == SCALE_SET else None
