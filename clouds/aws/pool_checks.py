"""Checks of pools in AWS. They need only the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clouds.aws.site import AwsSite
from clouds.base.checks import reversed_dates, unknown_zones, zones_basis, zones_of
from clouds.base.faults import Fault, Location
from clouds.base.place import Place
from clouds.base.pool_section import Pool, Reservation

RESERVATION = re.compile(r"cr-[0-9a-f]{8,17}")
"""Id of an On-Demand Capacity Reservation or of a Capacity Block."""

RESERVATION_GROUP = re.compile(r"arn:aws[a-z-]*:resource-groups:[a-z0-9-]+:\d{12}:group/[A-Za-z0-9._/-]+")
"""ARN of a resource group of reservations."""


def pool_faults(place: Place[AwsSite]) -> Iterator[Fault]:
    """Yield faults of a site's pools: zones that the site lacks, unusable placement groups and reservations, and
    settings that only Azure has."""
    yield from unknown_zones(place)
    for name, pool in place.pools.items():
        if pool.deletion_notice_min is not None:
            at: Location = ("pools", name, "deletion_notice_min")
            basis: tuple[Location, ...] = (("pools", name, "site"), ("sites", place.name, "kind"))
            yield Fault(at=at, wrong="exists only on Azure", write="leave it out", basis=basis)
        if pool.placement_group:
            yield from _placement(place, name, pool)
        if pool.reservation is not None:
            yield from _reservation(place, name, pool, pool.reservation)


def shared_reservations(place: Place[AwsSite], earlier: Sequence[Place[AwsSite]]) -> Iterator[Fault]:
    """Yield a fault for each pool whose reservation an earlier pool has for other machines: a Capacity Reservation is
    of one machine type in one zone (docs.aws.amazon.com, "Reserve compute capacity with EC2 On-Demand Capacity
    Reservations")."""
    first: dict[str, tuple[str, tuple[str, str, tuple[str, ...]]]] = {}
    for site in (*earlier, place):
        for name, pool in site.pools.items():
            if pool.reservation is None or is_group(pool.reservation):
                continue
            machines = (site.name, pool.machine_type, tuple(sorted(zones_of(site, pool))))
            other, others = first.setdefault(pool.reservation.id, (name, machines))
            if site.name == place.name and machines != others:
                key, there = next(
                    (key, theirs)
                    for key, ours, theirs in zip(("site", "machine_type", "zones"), machines, others, strict=True)
                    if ours != theirs
                )
                value = ", ".join(there) if isinstance(there, tuple) else there
                yield Fault(
                    at=("pools", name, "reservation", "id"),
                    wrong=f"{pool.reservation.id} is the reservation of {other} too, whose {key} is {value}: one is of "
                    "one machine type in one zone",
                    write="the id of a reservation for these machines",
                    basis=tuple(("pools", each, key) for each in (name, other)),
                )


def _placement(place: Place[AwsSite], name: str, pool: Pool) -> Iterator[Fault]:
    at: Location = ("pools", name)
    basis: tuple[Location, ...] = ((*at, "site"), ("sites", place.name, "kind"))
    zones = zones_of(place, pool)
    if pool.reservation is not None and pool.reservation.kind == "capacity-block":
        wrong = "machines of a Capacity Block are close together already"
        yield Fault(at=(*at, "placement_group"), wrong=wrong, write="leave it out", basis=basis)
    elif len(zones) > 1:
        wrong = f"{name} is in the zones {', '.join(zones)}, but a placement group is in one"
        more: tuple[Location, ...] = (*basis, (*at, "placement_group"), *zones_basis(place))
        yield Fault(at=(*at, "zones"), wrong=wrong, write=f"one zone, such as [{zones[0]}]", basis=more)


def is_group(reservation: Reservation) -> bool:
    """Return whether a reservation is named by the ARN of a resource group."""
    return reservation.id.startswith("arn:")


def _reservation(place: Place[AwsSite], name: str, pool: Pool, reservation: Reservation) -> Iterator[Fault]:
    at: Location = ("pools", name, "reservation")
    basis: tuple[Location, ...] = (("pools", name, "site"), ("sites", place.name, "kind"))
    if reservation.kind == "capacity-block" and is_group(reservation):
        wrong = "a Capacity Block is named by its own id, not by a group"
        yield Fault(at=(*at, "id"), wrong=wrong, write="the block's id, cr-…", basis=basis)
    elif not (RESERVATION_GROUP if is_group(reservation) else RESERVATION).fullmatch(reservation.id):
        wrong = f"{reservation.id!r} names no reservation of AWS"
        write = "the id of a Capacity Reservation, cr-…, or the ARN of a resource group of them"
        yield Fault(at=(*at, "id"), wrong=wrong, write=write, basis=basis)
    yield from reversed_dates(name, reservation)
    zones = zones_of(place, pool)
    if not is_group(reservation) and len(zones) > 1 and not pool.placement_group:
        wrong = f"{name} is in the zones {', '.join(zones)}, but a reservation is in one"
        write = f"the reservation's zone, such as [{zones[0]}]"
        more: tuple[Location, ...] = (*basis, (*at, "id"), *zones_basis(place))
        yield Fault(at=("pools", name, "zones"), wrong=wrong, write=write, basis=more)
