"""What an environment costs by a price book: by part, at its least and at its most. Decimal arithmetic throughout.

The least is what always runs: every pool at its ``min``. The most is every pool at its ``max`` at once. Fallbacks add
nothing to that: what overflows runs in another pool, within that one's own ``max``; a line names what its fallbacks
cost instead. Spare capacity is counted at its own price; where the book has none, at the ordinary price, which it does
not exceed (the pools ask for no more: ``components/azure/pools.py``, ``max_price``; EC2's default is the same), and the
line says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from clouds.base.prices import HostKey, MachineKey, Price
from components.model import Environment
from longhaul.prices.book import PriceBook
from longhaul.prices.money import Money, total
from longhaul.prices.needs import POOL, Need, needs

STANDS_IN = "the ordinary price, for want of one for spot"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What something costs."""

    hourly: Money = field(default_factory=Money)
    monthly: Money = field(default_factory=Money)
    """For 730 hours."""

    def __add__(self, other: Cost) -> Cost:
        return Cost(hourly=self.hourly + other.hourly, monthly=self.monthly + other.monthly)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(hourly=self.hourly - other.hourly, monthly=self.monthly - other.monthly)

    def __bool__(self) -> bool:
        return bool(self.hourly) or bool(self.monthly)


@dataclass(frozen=True, kw_only=True)
class CostLine:
    """What one need costs."""

    need: Need
    price: Price | None
    """Of one; None where the book has none."""
    assumed: str = ""
    """What the price stands in for, in words; empty where it is the thing's own."""
    fallbacks: tuple[tuple[str, Price | None], ...] = ()
    """What one machine costs in each pool that takes over, in the pool's order."""

    @property
    def unpriced(self) -> bool:
        """Whether it costs something that is not known. A host without a price is yours, and costs nothing here."""
        return self.price is None and not isinstance(self.need.key, HostKey)

    @property
    def minimum(self) -> Cost:
        """Of those that always are; nothing where the price is not known."""
        return self._times(self.need.least)

    @property
    def maximum(self) -> Cost:
        """Of as many as there may be; nothing where the price is not known."""
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
    """What an environment costs."""

    environment: str
    lines: tuple[CostLine, ...]
    """In the order of the file: control plane, pools, sites, racks."""

    @property
    def minimum(self) -> Cost:
        """With every pool at its ``min``; without what is unpriced."""
        return _sum(line.minimum for line in self.lines)

    @property
    def maximum(self) -> Cost:
        """With every pool at its ``max``; without what is unpriced."""
        return _sum(line.maximum for line in self.lines)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Names of the parts whose price is not known: the sums are too low by these."""
        return tuple(line.need.name for line in self.lines if line.unpriced)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Names of the parts that another price stands in for, with which."""
        return tuple(f"{line.need.name}: {line.assumed}" for line in self.lines if line.assumed)

    def groups(self) -> dict[str, tuple[CostLine, ...]]:
        """The lines by group, such as ``control plane`` or ``pool gpu``."""
        found: dict[str, list[CostLine]] = {}
        for line in self.lines:
            found.setdefault(line.need.group, []).append(line)
        return {group: tuple(lines) for group, lines in found.items()}


@dataclass(frozen=True, kw_only=True)
class LineDifference:
    """One line that is not as it was."""

    group: str
    what: str
    before: CostLine | None
    """None where there was none."""
    after: CostLine | None
    """None where there is none any more."""

    @property
    def name(self) -> str:
        """Group, name and what it is now, or was."""
        line = self.after or self.before
        return f"{self.group}: {self.what}" if line is None else line.need.name

    @property
    def known(self) -> bool:
        """Whether the price is known on both sides."""
        return not any(line is not None and line.unpriced for line in (self.before, self.after))

    @property
    def minimum(self) -> Cost:
        """What it adds at the least; nothing where that is not known."""
        return _minimum(self.after) - _minimum(self.before) if self.known else Cost()

    @property
    def maximum(self) -> Cost:
        """What it adds at the most; nothing where that is not known."""
        return _maximum(self.after) - _maximum(self.before) if self.known else Cost()


@dataclass(frozen=True, kw_only=True)
class CostDifference:
    """What a change of an environment changes about its cost."""

    lines: tuple[LineDifference, ...]
    """Those that are not as they were, in the order of the file after the change; then those that are gone."""

    @property
    def minimum(self) -> Cost:
        """What it adds at the least, of what is known; below nothing where it saves."""
        return _sum(line.minimum for line in self.lines)

    @property
    def maximum(self) -> Cost:
        """What it adds at the most, of what is known."""
        return _sum(line.maximum for line in self.lines)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names of the lines that change by what is not known."""
        return tuple(line.name for line in self.lines if not line.known)


def price_of(environment: Environment, book: PriceBook) -> EnvironmentCost:
    """What ``environment`` costs by ``book``."""
    wanted = needs(environment)
    pools = {need.group: _priced(need, book)[0] for need in wanted if need.group.startswith(POOL)}
    return EnvironmentCost(environment=environment.name, lines=tuple(_line(need, book, pools) for need in wanted))


def difference(before: EnvironmentCost, after: EnvironmentCost) -> CostDifference:
    """What ``after`` costs more than ``before``, line by line; both by the same book."""
    old, new = _by_name(before), _by_name(after)
    return CostDifference(
        lines=tuple(
            LineDifference(group=group, what=what, before=old.get((group, what)), after=new.get((group, what)))
            for group, what in dict.fromkeys((*new, *old))
            if not _alike(old.get((group, what)), new.get((group, what)))
        )
    )


def _line(need: Need, book: PriceBook, pools: Mapping[str, Price | None]) -> CostLine:
    price, assumed = _priced(need, book)
    return CostLine(
        need=need,
        price=price,
        assumed=assumed,
        fallbacks=tuple((name, pools.get(f"{POOL}{name}")) for name in need.fallbacks),
    )


def _priced(need: Need, book: PriceBook) -> tuple[Price | None, str]:
    """The price, and what it stands in for."""
    price = book.find(need.key)
    if price is None and isinstance(need.key, MachineKey) and need.key.spot:
        price = book.find(need.key.on_demand())
        return price, STANDS_IN if price is not None else ""
    return price, ""


def _by_name(cost: EnvironmentCost) -> dict[tuple[str, str], CostLine]:
    return {(line.need.group, line.need.what): line for line in cost.lines}


def _alike(before: CostLine | None, after: CostLine | None) -> bool:
    """Whether nothing changed that its cost hangs on."""
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
