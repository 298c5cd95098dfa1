"""Scale sets: the number of machines that a scale set can hold, and the number of scale sets that a pool needs."""

from __future__ import annotations

import re

from clouds.azure.site import AzureSite
from clouds.base.checks import zones_of
from clouds.base.groups import PoolGroup, PoolGroups
from clouds.base.place import Place
from clouds.base.resource_types import without_version

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
"""Type of a scale set's resource in the program."""

LARGEST_SET = 1000
"""Largest number of machines in one scale set from a gallery image (learn.microsoft.com, "Virtual Machine Scale Sets
and placement groups")."""

LARGEST_PLACEMENT_GROUP = 100
"""Largest number of machines in one placement group (same page). InfiniBand works only inside one placement group."""


def has_infiniband(machine_type: str) -> bool:
    """Return whether InfiniBand connects machines of a type: its name has an ``r`` among the features
    (learn.microsoft.com, "Azure virtual machine sizes naming conventions")."""
    features = re.fullmatch(r"Standard_[A-Z]+\d+(?:-\d+)?([a-z]*)(?:_.*)?", machine_type)
    return features is not None and "r" in features[1]


def largest_set(machine_type: str) -> int:
    """Return the number of machines that one scale set of a type can hold."""
    return LARGEST_PLACEMENT_GROUP if has_infiniband(machine_type) else LARGEST_SET


class AzurePoolGroups(PoolGroups[AzureSite]):
    """Scale sets of pools in Azure."""

    word = "scale set"

    def of_pool(self, place: Place[AzureSite], pool: str) -> tuple[PoolGroup, ...]:
        """Return as many scale sets as are needed for the pool's ``max``.

        The first has the pool's own name; further ones have a number after it. Each is filled before the next. When
        ``max`` grows, only the last scale set changes, and added ones have new names.
        """
        declared, first = place.pools[pool], place.pool_resource(pool)
        most = largest_set(declared.machine_type)
        resources = {
            before: f"{first}-s{before // most}" if before else first for before in range(0, declared.max, most)
        }
        return tuple(
            PoolGroup(
                name=place.cloud_name(resource),
                resource=resource,
                min=min(max(declared.min - before, 0), most),
                max=min(declared.max - before, most),
            )
            for before, resource in resources.items()
        )

    def zone_labels(self, place: Place[AzureSite], pool: str) -> tuple[str, ...]:
        """Return the region with the number of each zone of the pool. If InfiniBand connects the machines, they are in
        one placement group and in no zone. Their label is the region alone, as in a site without zones."""
        declared = place.pools[pool]
        zones = () if has_infiniband(declared.machine_type) else zones_of(place, declared)
        return tuple(f"{place.site.region}-{number}" for number in zones) or (place.site.region,)

    def driver_labels(self, zone: str) -> dict[str, str]:
        """Return the zone label of the CSI driver of disks. Its value is ``zone`` for a machine in a zone, and empty
        for any other machine (github.com/kubernetes-sigs/azuredisk-csi-driver, ``deploy/example/topology``). Names of
        regions have no hyphen."""
        return {"topology.disk.csi.azure.com/zone": zone if "-" in zone else ""}

    def may_name(self, place: Place[AzureSite], pool: str, machine: str) -> bool:
        """Return whether ``machine`` begins with the name of the pool's first scale set. The names of all machines of
        the pool begin with it."""
        return machine.startswith(place.cloud_name(place.pool_resource(pool)))

    def unused_name(self, place: Place[AzureSite], pool: str) -> str:
        """Return the first scale set's name with six letters after it. Uniform scale sets add six characters to their
        name (learn.microsoft.com, "osProfile.computerNamePrefix")."""
        return f"{self.of_pool(place, pool)[0].name}zzzzzz"

    def largest(self, type_: str, machine_type: str) -> int | None:
        """Return the largest size of a scale set of this machine type; None if the resource is not a scale set. A scale
        set declares no maximum itself."""
        return largest_set(machine_type) if without_version(type_) == SCALE_SET else None
