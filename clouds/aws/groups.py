"""Auto scaling groups. Each pool has one group, because no pool reaches a group's largest size."""

from __future__ import annotations

import re

from clouds.aws.disks import default_disk_gib
from clouds.aws.site import AwsSite
from clouds.base.checks import zones_of
from clouds.base.groups import PoolGroup, PoolGroups
from clouds.base.machine_types import MachineProperties
from clouds.base.place import Place


class AwsPoolGroups(PoolGroups[AwsSite]):
    """Auto scaling groups of pools in AWS. Each has a maximum of its own."""

    word = "auto scaling group"

    def default_disk_gib(self, machine: MachineProperties) -> int:
        """Return the size in GiB of the system disk when a pool declares none."""
        return default_disk_gib(machine)

    def of_pool(self, place: Place[AwsSite], pool: str) -> tuple[PoolGroup, ...]:
        """Return one group for the pool."""
        declared, resource = place.pools[pool], place.pool_resource(pool)
        return (PoolGroup(name=place.cloud_name(resource), resource=resource, min=declared.min, max=declared.max),)

    def zone_labels(self, place: Place[AwsSite], pool: str) -> tuple[str, ...]:
        """Return the names of the pool's zones: the region with a letter."""
        return tuple(f"{place.site.region}{letter}" for letter in zones_of(place, place.pools[pool]))

    def driver_labels(self, zone: str) -> dict[str, str]:
        """Return the driver's label, which has the zone (github.com/kubernetes-sigs/aws-ebs-csi-driver,
        ``NodeGetInfo``)."""
        return {"topology.ebs.csi.aws.com/zone": zone}

    def may_name(self, place: Place[AwsSite], pool: str, machine: str) -> bool:
        """Return whether the name has the form of an instance id. An id does not show its pool."""
        return re.fullmatch(r"i-[0-9a-f]{8,17}", machine) is not None

    def unused_name(self, place: Place[AwsSite], pool: str) -> str:
        """Return an id that no instance has."""
        return "i-00000000000000000"
