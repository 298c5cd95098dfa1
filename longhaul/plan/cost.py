"""What the change costs a month. Prices come from outside: none is known here.

:class:`Prices` is what a price book does for an environment, as ``longhaul.prices.cost.price_of`` does with a book.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from components.model import Environment


class Amount(Protocol):
    """Money, in one currency or several."""

    def __sub__(self, other: Self, /) -> Self: ...

    def signed(self) -> str:
        """With a sign, for a difference."""
        ...


class Rate(Protocol):
    """What something costs."""

    @property
    def monthly(self) -> Amount:
        """For a month of 730 hours."""
        ...


class Priced(Protocol):
    """What an environment costs."""

    @property
    def minimum(self) -> Rate:
        """With every pool at its minimum."""
        ...

    @property
    def maximum(self) -> Rate:
        """With every pool at its maximum."""
        ...

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Names of the parts that have no price, which are not in the sums."""
        ...

    @property
    def assumed(self) -> tuple[str, ...]:
        """Names of the parts that another price stands in for, with which."""
        ...


Prices = Callable[[Environment], Priced]


@dataclass(frozen=True, kw_only=True)
class Monthly:
    """What an environment costs a month, in words."""

    least: str
    most: str


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a change costs or saves."""

    summary: str
    before: Monthly | None = None
    """None where it is not known, or there was nothing."""
    after: Monthly | None = None
    """None where it is not known."""


def compare_cost(before: Environment | None, after: Environment, prices: Prices | None, *, source: str) -> Cost:
    """What a change from ``before`` to ``after`` costs a month; ``source`` says where the prices are from."""
    if prices is None:
        return Cost(summary="Not known: there are no prices. `longhaul prices` reads them into a file.")
    new = prices(after)
    then = Monthly(least=str(new.minimum.monthly), most=str(new.maximum.monthly))
    if before is None:
        said = f"{then.least} a month with all pools at their minimum, {then.most} at their maximum."
        return Cost(summary=_with_gaps(said, new, source), after=then)
    if any(pool.site not in before.sites for pool in before.pools.values()):
        said = f"{then.least} to {then.most} a month; what it was is only in the site's file of before (--base FILE)."
        return Cost(summary=_with_gaps(said, new, source), after=then)
    old = prices(before)
    now = Monthly(least=str(old.minimum.monthly), most=str(old.maximum.monthly))
    said = (
        f"{(new.minimum.monthly - old.minimum.monthly).signed()} a month with all pools at their minimum "
        f"({now.least}, then {then.least}), {(new.maximum.monthly - old.maximum.monthly).signed()} at their maximum "
        f"({now.most}, then {then.most})."
    )
    return Cost(summary=_with_gaps(said, new, source), before=now, after=then)


def _with_gaps(said: str, new: Priced, source: str) -> str:
    """What the sums do not have, and where they are from."""
    parts = [said]
    if new.unpriced:
        parts.append(f"Without a price, and not in it: {', '.join(new.unpriced)}.")
    if new.assumed:
        parts.append(f"Assumed: {'; '.join(new.assumed)}.")
    if source:
        parts.append(f"Prices: {source}.")
    return " ".join(parts)
