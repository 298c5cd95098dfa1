"""Computes the cost of an environment from a price book, by part, as a minimum and a maximum. All arithmetic is
decimal.

The minimum is the cost of everything that always runs: every pool at its ``min``, or at its ``spare`` nodes where an
active autoscaler keeps more. The maximum is the cost of every pool at its ``max`` at once. Fallbacks add nothing to the
maximum: machines for which a pool has no capacity run in another pool, within that pool's own ``max``. A line names the
cost of its fallbacks. Spot machines are counted at the spot price. Where the book has none, they are counted at the
ordinary price, and the line says so. The spot price does not exceed the ordinary price: the pools bid no more
(``components/azure/pools.py``, ``max_price``), and EC2's default is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clouds.base.prices import HostKey, Price
from components.model import Environment
from components.model.prices.book import PriceBook
from longhaul.costs.money import Money, total
from longhaul.costs.priced_needs import POOL, PricedNeed, priced_needs

STANDS_IN = "the ordinary price, since there is no spot price"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """A cost per hour and per month."""

    hourly: Money = field(default_factory=Money)
    monthly: Money = field(default_factory=Money)
    """Cost for 730 hours."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(hourly=self.hourly + other.hourly, monthly=self.monthly + other.monthly)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(hourly=self.hourly - other.hourly, monthly=self.monthly - other.monthly)

    def __bool__(self) -> bool:
        return bool(self.hourly) or bool(self.monthly)


@dataclass(frozen=True, kw_only=True)
class CostLine:
    """Cost of one need of an environment."""

    need: PricedNeed
    price: Price | None
    """Price of one unit; None when the book has none."""
    assumed: str = ""
    """Description of a substitute price; empty when the price is the need's own."""
    fallbacks: tuple[tuple[str, Price | None], ...] = ()
    """Each fallback pool, with the price of one machine in it, in the pool's order."""

    @property
    def unpriced(self) -> bool:
        """Return whether the price is unknown. A host without a price is yours and costs nothing here."""
        return self.price is None and not isinstance(self.need.key, HostKey)

    @property
    def minimum(self) -> Cost:
        """Return the cost of the smallest number; zero when the price is unknown."""
        return self._times(self.need.least)

    @property
    def maximum(self) -> Cost:
        """Return the cost of the largest number; zero when the price is unknown."""
        return self._times(self.need.most)

    def _times(self, count: int) -> Cost:
        if self.price is None:
            return Cost()
        return Cost(
            hourly=Money.of(self.price.currency, self.price.hourly * count),
            monthly=Money.of(self.price.currency, self.price.monthly * count),
        )


@dataclass(frozen=True, kw_only=True)
class EnvironmentCost:
    """Cost of a whole environment."""

    environment: str
    lines: tuple[CostLine, ...]
    """In the order of the file: control plane, pools, sites, hosts."""

    @property
    def minimum(self) -> Cost:
        """Return the cost with every pool at its smallest, without parts that have no price."""
        return _sum(line.minimum for line in self.lines)

    @property
    def maximum(self) -> Cost:
        """Return the cost with every pool at its ``max``, without parts that have no price."""
        return _sum(line.maximum for line in self.lines)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the names of the parts whose price is unknown. The sums leave them out."""
        return tuple(line.need.name for line in self.lines if line.unpriced)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Return the names of the parts that are counted at a substitute price, each with a description of that
        price."""
        return tuple(f"{line.need.name}: {line.assumed}" for line in self.lines if line.assumed)

    def groups(self) -> dict[str, tuple[CostLine, ...]]:
        """Return the lines by group, such as ``control plane`` or ``pool gpu``."""
        by_group: dict[str, list[CostLine]] = {}
        for line in self.lines:
            by_group.setdefault(line.need.group, []).append(line)
        return {group: tuple(lines) for group, lines in by_group.items()}


@dataclass(frozen=True, kw_only=True)
class LineDifference:
    """One line that changed."""

    group: str
    what: str
    before: CostLine | None
    """None when the line is new."""
    after: CostLine | None
    """None when the line was removed."""

    @property
    def name(self) -> str:
        """Return the need's present name, or the former name of a removed line."""
        line = self.after or self.before
        return f"{self.group}: {self.what}" if line is None else line.need.name

    @property
    def known(self) -> bool:
        """Return whether the prices on both sides are known."""
        return not any(line is not None and line.unpriced for line in (self.before, self.after))

    @property
    def minimum(self) -> Cost:
        """Return the increase of the minimum; zero when it is unknown."""
        return _minimum(self.after) - _minimum(self.before) if self.known else Cost()

    @property
    def maximum(self) -> Cost:
        """Return the increase of the maximum; zero when it is unknown."""
        return _maximum(self.after) - _maximum(self.before) if self.known else Cost()


@dataclass(frozen=True, kw_only=True)
class CostDifference:
    """Difference in cost between an environment before and after a change."""

    lines: tuple[LineDifference, ...]
    """Lines that changed, in the order of the file after the change, then those that were removed."""

    @property
    def minimum(self) -> Cost:
        """Return the increase of the minimum, as far as it is known; negative for a saving."""
        return _sum(line.minimum for line in self.lines)

    @property
    def maximum(self) -> Cost:
        """Return the increase of the maximum, as far as it is known."""
        return _sum(line.maximum for line in self.lines)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the names of the lines whose increase is unknown."""
        return tuple(line.name for line in self.lines if not line.known)


def price_of(environment: Environment, book: PriceBook) -> EnvironmentCost:
    """Compute the cost of ``environment`` with the prices of ``book``."""
    wanted = priced_needs(environment)
    pools = {need.group: book.applied(need.key)[0] for need in wanted if need.group.startswith(POOL)}
    return EnvironmentCost(environment=environment.name, lines=tuple(_line(need, book, pools) for need in wanted))


def difference(before: EnvironmentCost, after: EnvironmentCost) -> CostDifference:
    """Compute the cost of ``after`` in excess of ``before``, line by line. Both costs are from the same book."""
    old, new = _by_name(before), _by_name(after)
    return CostDifference(
        lines=tuple(
            LineDifference(group=group, what=what, before=old.get((group, what)), after=new.get((group, what)))
            for group, what in dict.fromkeys((*new, *old))
            if not _alike(old.get((group, what)), new.get((group, what)))
        )
    )


def _line(need: PricedNeed, book: PriceBook, pools: Mapping[str, Price | None]) -> CostLine:
    price, stands_in = book.applied(need.key)
    return CostLine(
        need=need,
        price=price,
        assumed=STANDS_IN if stands_in and price is not None else "",
        fallbacks=tuple((name, pools.get(f"{POOL}{name}")) for name in need.fallbacks),
    )


def _by_name(cost: EnvironmentCost) -> dict[tuple[str, str], CostLine]:
    return {(line.need.group, line.need.what): line for line in cost.lines}


def _alike(before: CostLine | None, after: CostLine | None) -> bool:
    """Return whether everything that the cost depends on is unchanged."""
    if before is None or after is None:
        return before is after
    return (before.need.key, before.need.least, before.need.most, before.price) == (
        after.need.key,
        after.need.least,
        after.need.most,
        after.price,
    )


def _minimum(line: CostLine | None) -> Cost:
    return Cost() if line is None else line.minimum


def _maximum(line: CostLine | None) -> Cost:
    return Cost() if line is None else line.maximum


def _sum(costs: Iterable[Cost]) -> Cost:
    parts = tuple(costs)
    return Cost(hourly=total(cost.hourly for cost in parts), monthly=total(cost.monthly for cost in parts))
