"""Groups of equal machines that a cloud scales: scale sets and auto scaling groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from clouds.base.machine_types import MachineProperties
from clouds.base.place import Place, SiteT


@dataclass(frozen=True, kw_only=True)
class PoolGroup:
    """One group of a pool."""

    name: str
    """Name of the group in the cloud. On Azure, the names of its machines begin with it."""
    resource: str
    """Name of the group's resource in the program."""
    min: int
    """Number of machines that the group starts with."""
    max: int
    """Largest number of machines in the group."""


class PoolGroups(Generic[SiteT]):
    """Groups of a cloud's pools. There are none by default."""

    word = "group"
    """The cloud's word for one group, a singular noun such as ``scale set``."""

    def default_disk_gib(self, machine: MachineProperties) -> int | None:
        """Return the size in GiB of the system disk when a pool declares none; None when the image's size applies."""
        return None

    def of_pool(self, place: Place[SiteT], pool: str) -> tuple[PoolGroup, ...]:
        """Return a pool's groups in the order in which they are filled: each is filled before the next."""
        return ()

    def zone_labels(self, place: Place[SiteT], pool: str) -> tuple[str, ...]:
        """Return the values that the zone label of a pool's nodes can have; empty when they are not known. Each machine
        reports its own zone (images/rootfs, ``machine/metadata.py``)."""
        return ()

    def driver_labels(self, zone: str) -> dict[str, str]:
        """Return the labels that the cloud's CSI driver of disks gives a node in a zone. ``zone`` is the value of the
        node's zone label."""
        return {}

    def largest(self, type_: str, machine_type: str) -> int | None:
        """Return the number of machines that a group can hold. ``type_`` is the type of a resource of the program, such
        as ``aws:autoscaling/group:Group``. Return None when the group has a maximum of its own, or when the type
        belongs to another cloud."""
        return None

    def may_name(self, place: Place[SiteT], pool: str, machine: str) -> bool:
        """Return whether a machine of the pool may have this name."""
        return False

    def unused_name(self, place: Place[SiteT], pool: str) -> str:
        """Return a name in the form of the pool's machine names that no machine has."""
        return place.pool_resource(pool)
