"""Checks of pools in Azure. They need only the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clouds.azure.existing_section import name_of, subscription_of
from clouds.azure.groups import has_infiniband
from clouds.azure.site import AzureSite
from clouds.base.checks import reversed_dates, unknown_zones
from clouds.base.faults import Fault, Location
from clouds.base.place import Place
from clouds.base.pool_section import Pool, Reservation

RESERVATION_GROUP = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/capacityReservationGroups/[^/]+"
)
"""Resource id of a capacity reservation group."""


def pool_faults(place: Place[AzureSite]) -> Iterator[Fault]:
    """Yield faults of a site's pools: zones that the site lacks, zones for a type with InfiniBand, unusable
    reservations, settings that only AWS has, and deletion notices for spot machines (learn.microsoft.com, "Terminate
    notification for Azure Virtual Machine Scale Set instances")."""
    yield from unknown_zones(place)
    for name, pool in place.pools.items():
        if pool.zones and has_infiniband(pool.machine_type):
            wrong = f"InfiniBand connects machines of {pool.machine_type}, and Azure chooses where its group is"
            basis = (("pools", name, "machine_type"), ("pools", name, "site"))
            yield Fault(at=("pools", name, "zones"), wrong=wrong, write="leave it out", basis=basis)
        for key in ("placement_group", "efa"):
            if getattr(pool, key):
                wrong = "exists only on AWS; machines of types with InfiniBand are close together and use InfiniBand"
                basis = (("pools", name, "site"), ("sites", place.name, "kind"))
                yield Fault(at=("pools", name, key), wrong=wrong, write="leave it out", basis=basis)
        if pool.spot and pool.deletion_notice_min is not None:
            wrong = "Azure gives spot machines no notice of deletions"
            at: Location = ("pools", name, "deletion_notice_min")
            yield Fault(at=at, wrong=wrong, write="leave it out", basis=(("pools", name, "spot"),))
        if pool.reservation is not None:
            yield from _reservation(place, name, pool, pool.reservation)


def _reservation(place: Place[AzureSite], name: str, pool: Pool, reservation: Reservation) -> Iterator[Fault]:
    """Yield faults of a pool's reservation (learn.microsoft.com, "On-demand capacity reservation", Limitations)."""
    at: Location = ("pools", name, "reservation")
    basis: tuple[Location, ...] = (("pools", name, "site"), ("sites", place.name, "kind"))
    if reservation.kind != "on-demand":
        wrong = f"Azure has no reservation of kind {reservation.kind!r}"
        yield Fault(at=(*at, "kind"), wrong=wrong, write="on-demand", basis=basis)
    if not RESERVATION_GROUP.fullmatch(reservation.id):
        wrong = f"{reservation.id!r} names no capacity reservation group of Azure"
        yield Fault(at=(*at, "id"), wrong=wrong, write="the group's resource id", basis=basis)
    elif subscription_of(reservation.id) != place.site.subscription:
        wrong = f"{name_of(reservation.id)} is in another subscription than {place.name}"
        more: tuple[Location, ...] = (*basis, ("sites", place.name, "subscription"))
        write = f"the id of one in {place.site.subscription}"
        yield Fault(at=(*at, "id"), wrong=wrong, write=write, basis=more)
    yield from reversed_dates(name, reservation)
    if has_infiniband(pool.machine_type):
        wrong = f"machines of {pool.machine_type} are in one placement group, for which Azure has no reservations"
        more = (*basis, ("pools", name, "machine_type"))
        yield Fault(at=at, wrong=wrong, write="leave it out, or a type without InfiniBand", basis=more)
