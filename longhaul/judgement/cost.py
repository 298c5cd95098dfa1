"""Change of an environment's monthly cost. The caller passes the prices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from components.model import Environment
from longhaul.costs.cost import EnvironmentCost

Prices = Callable[[Environment], EnvironmentCost]
"""Function that returns the cost of an environment, as ``longhaul.costs.cost.price_of`` does with a price book."""


@dataclass(frozen=True, kw_only=True)
class Monthly:
    """Lowest and highest monthly cost of an environment, each as text with amounts and currencies."""

    least: str
    most: str


@dataclass(frozen=True, kw_only=True)
class CostChange:
    """Cost or saving of a change."""

    summary: str
    before: Monthly | None = None
    """Monthly cost before the change. None if the cost is unknown, or if there was no environment before."""
    after: Monthly | None = None
    """Monthly cost after the change. None if the cost is unknown."""


def compare_cost(before: Environment | None, after: Environment, prices: Prices | None, *, source: str) -> CostChange:
    """Compare the monthly costs of ``before`` and ``after``. ``source`` names the source of the prices."""
    if prices is None:
        return CostChange(summary="Not known: there are no prices. `longhaul prices` reads them into a file.")
    new = prices(after)
    then = Monthly(least=str(new.minimum.monthly), most=str(new.maximum.monthly))
    if before is None:
        summary = f"{then.least} a month with all pools at their minimum, {then.most} at their maximum."
        return CostChange(summary=_with_gaps(summary, new, source), after=then)
    if any(pool.site not in before.sites for pool in before.pools.values()):
        summary = f"{then.least} to {then.most} a month; the earlier cost needs the earlier file (--base FILE)."
        return CostChange(summary=_with_gaps(summary, new, source), after=then)
    old = prices(before)
    now = Monthly(least=str(old.minimum.monthly), most=str(old.maximum.monthly))
    summary = (
        f"{(new.minimum.monthly - old.minimum.monthly).signed()} a month with all pools at their minimum "
        f"({now.least}, then {then.least}), {(new.maximum.monthly - old.maximum.monthly).signed()} at their maximum "
        f"({now.most}, then {then.most})."
    )
    return CostChange(summary=_with_gaps(summary, new, source), before=now, after=then)


def _with_gaps(summary: str, new: EnvironmentCost, source: str) -> str:
    """Append the items without a price, the assumptions, and the source of the prices."""
    parts = [summary]
    if new.unpriced:
        parts.append(f"Without a price, and not included: {', '.join(new.unpriced)}.")
    if new.assumed:
        parts.append(f"Assumed: {'; '.join(new.assumed)}.")
    if source:
        parts.append(f"Prices: {source}.")
    return " ".join(parts)
