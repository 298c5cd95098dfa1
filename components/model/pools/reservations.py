"""Cautions about reserved capacity that begins and ends at a set time, such as a Capacity Block."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from clouds.base.faults import Caution
from clouds.base.pool_section import Reservation
from components.model.environment import Environment
from contract.reasons.plan import FileReason

BLOCK = "capacity-block"


def reservation_words(reservation: Reservation | None) -> str:
    """Return a pool's reserved capacity in words, with its first and last day; empty without one."""
    if reservation is None:
        return ""
    kind, begins, ends = reservation.kind, reservation.begins, reservation.ends
    days = f"{begins}..{ends}" if begins and ends else f"from {begins}" if begins else f"until {ends}" if ends else ""
    return f"{'block' if kind == BLOCK else 'reserved'} {days}".rstrip()


def reservation_cautions(environment: Environment, today: date) -> Iterator[Caution]:
    """Yield a caution for each pool that needs reserved machines when there are none, and for each that needs those of
    a Capacity Block without dates. They do not make the file invalid: time passes without a change of it."""
    for name, pool in environment.pools.items():
        reserved, at = pool.reservation, ("pools", name, "reservation")
        if reserved is None:
            continue
        if reserved.ends is not None and reserved.ends < today:
            yield Caution(
                reason=FileReason.RESERVATION_ENDED,
                at=(*at, "ends"),
                pool=name,
                wrong=f"{reserved.id} ended on {reserved.ends}: {name} gets no machine of it any more",
                write="`id`, `begins` and `ends` of another reservation, or leave `reservation` out",
            )
        elif pool.min and reserved.begins is not None and reserved.begins > today:
            yield Caution(
                reason=FileReason.RESERVATION_NOT_BEGUN,
                at=("pools", name, "min"),
                pool=name,
                basis=((*at, "begins"),),
                wrong=f"{reserved.id} begins on {reserved.begins}: until then there are none of these {pool.min:,} "
                "machines",
                write="0 until then",
            )
        elif reserved.kind == BLOCK and pool.min and (reserved.begins is None or reserved.ends is None):
            yield Caution(
                reason=FileReason.RESERVATION_UNDATED,
                at=at,
                pool=name,
                basis=(("pools", name, "min"),),
                wrong=f"{name} needs {pool.min:,} machines of a Capacity Block, and nobody can say whether the block "
                "has begun or is over",
                write="`begins` and `ends`: `aws ec2 describe-capacity-reservations --capacity-reservation-ids "
                f"{reserved.id}`",
            )
