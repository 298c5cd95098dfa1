"""Cautions about Capacity Blocks, which begin and end at a set time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from clouds.base.faults import Caution
from components.model.environment import Environment
from contract.reasons.plan import FileReason

BLOCK = "capacity-block"


def reservation_cautions(environment: Environment, today: date) -> Iterator[Caution]:
    """Yield a caution for each pool that needs machines of a Capacity Block when the block has none, and for each that
    may need them and whose block has no dates. They do not make the file invalid: time passes without a change of
    it."""
    for name, pool in environment.pools.items():
        block, at = pool.reservation, ("pools", name, "reservation")
        if block is None or block.kind != BLOCK:
            continue
        if block.ends is not None and block.ends < today:
            yield Caution(
                reason=FileReason.RESERVATION_ENDED,
                at=(*at, "ends"),
                pool=name,
                wrong=f"the block {block.id} ended on {block.ends}: {name} gets no machine any more",
                write="`id`, `begins` and `ends` of another block, or remove the pool",
            )
        elif pool.min and block.begins is not None and block.begins > today:
            yield Caution(
                reason=FileReason.RESERVATION_NOT_BEGUN,
                at=("pools", name, "min"),
                pool=name,
                basis=((*at, "begins"),),
                wrong=f"the block {block.id} begins on {block.begins}: until then AWS has none of these {pool.min:,} "
                "machines",
                write="0 until then",
            )
        elif pool.min and (block.begins is None or block.ends is None):
            yield Caution(
                reason=FileReason.RESERVATION_UNDATED,
                at=at,
                pool=name,
                basis=(("pools", name, "min"),),
                wrong=f"{name} needs {pool.min:,} machines of a Capacity Block, and nobody can say whether the block "
                "has begun or is over",
                write="`begins` and `ends`: `aws ec2 describe-capacity-reservations --capacity-reservation-ids "
                f"{block.id}`",
            )
