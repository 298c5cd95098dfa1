"""Terms of a run: allowed time and money, and the reasons to refuse it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from components.model import Environment, control_machines, plan
from longhaul.acceptance.scaling import scaled_pool
from longhaul.costs.cost import CostLine
from longhaul.costs.known import KnownPrices
from longhaul.costs.money import Money, total
from longhaul.costs.priced_needs import POOL


@dataclass(frozen=True, kw_only=True)
class AcceptanceBudget:
    """Limits that were declared for a run."""

    most_minutes: float
    most_cost: Decimal | None = None
    """In the prices' currency; None when no cost limit was given."""
    prices: KnownPrices | None = None


@dataclass(frozen=True, kw_only=True)
class ExpectedUse:
    """Maximum that a run uses."""

    machines: int
    """Includes gateways and bare-metal hosts."""
    hours: int
    """Started hours: clouds charge for most things by the hour, or by less."""
    cost: Money | None
    """Cost of that many hours; None without prices."""
    unpriced: tuple[str, ...] = ()
    """Things that have no price and are missing in the sum."""

    def __str__(self) -> str:
        cost = "cost not looked at" if self.cost is None else f"{self.cost} at the most"
        return f"{self.machines} machines, {self.hours} h, {cost}"


def expected(environment: Environment, budget: AcceptanceBudget) -> ExpectedUse:
    """Return the maximum use: every pool at its ``min``, plus one machine of the scaled pool for the whole time."""
    hours = math.ceil(budget.most_minutes / 60)
    grown = scaled_pool(environment)
    gateways = sum(len(site.gateways) for site in environment.sites.values())
    machines = (
        len(control_machines(environment, plan(environment)))
        + sum(pool.min for pool in environment.pools.values())
        + len(environment.hosts)
        + gateways
        + (grown is not None)
    )
    if budget.prices is None:
        return ExpectedUse(machines=machines, hours=hours, cost=None)
    priced = budget.prices.cost(environment)
    more = (_one_more(line) for line in priced.lines if grown and line.need.group == f"{POOL}{grown}")
    hourly = total([priced.minimum.hourly, *more])
    cost = Money.sum_of({currency: amount * hours for currency, amount in hourly.amounts})
    return ExpectedUse(machines=machines, hours=hours, cost=cost, unpriced=priced.unpriced)


def refusals(environment: Environment, budget: AcceptanceBudget, expected_use: ExpectedUse) -> Iterator[str]:
    """Yield the reasons why a run may not begin; nothing when it may."""
    if not environment.destroyable:
        yield "its file does not say `destroyable: true`, which a run needs to take down what it made"
    if expected_use.cost is None or budget.most_cost is None:
        return
    if expected_use.unpriced:
        yield (
            f"there is no price of {', '.join(expected_use.unpriced)}: `longhaul prices --env {environment.name}` "
            "reads prices; --without-prices runs without any"
        )
    if len(expected_use.cost.amounts) > 1:
        yield f"its prices are of several currencies ({expected_use.cost}), which cannot be compared with one sum"
    elif any(amount > budget.most_cost for _, amount in expected_use.cost.amounts):
        yield f"it may cost {expected_use.cost} in {expected_use.hours} h, more than {budget.most_cost} (--most-cost)"


def _one_more(line: CostLine) -> Money:
    """Return the hourly price of one more unit of the line; zero without a price."""
    return Money() if line.price is None else Money.of(line.price.currency, line.price.hourly)
