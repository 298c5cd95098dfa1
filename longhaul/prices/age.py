"""Checks whether a price book is sufficient for an environment: finds missing and old prices."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from clouds.base.prices import HostKey, Key, MachineKey, Price
from components.model import Environment
from components.model.prices.book import PriceBook
from longhaul.costs.priced_needs import priced_needs


@dataclass(frozen=True, kw_only=True)
class OldPrice:
    """A price that is too old, or dated in the future."""

    key: Key
    price: Price
    days: int
    """Days since it was read; negative for a date in the future."""


@dataclass(frozen=True, kw_only=True)
class PriceBookCheck:
    """Result of checking a price book."""

    missing: dict[Key, tuple[str, ...]]
    """Keys without a price, each with the groups that need it."""
    old: tuple[OldPrice, ...]
    stands_in: tuple[MachineKey, ...]
    """Spot machines without a spot price, which are counted at the ordinary price."""
    good: int
    """Number of prices that exist and are recent enough."""

    @property
    def healthy(self) -> bool:
        """Return whether no price is missing or old."""
        return not self.missing and not self.old


def check(environment: Environment, book: PriceBook, *, today: date, days: int) -> PriceBookCheck:
    """Check which prices ``book`` lacks for ``environment``, and which are older than ``days``. Hosts need no price."""
    users: dict[Key, list[str]] = {}
    for need in priced_needs(environment):
        users.setdefault(need.key, []).append(need.group)
    missing: dict[Key, tuple[str, ...]] = {}
    old: list[OldPrice] = []
    stands_in: list[MachineKey] = []
    good = 0
    for key, groups in users.items():
        price, other = book.applied(key)
        if price is None:
            if not isinstance(key, HostKey):
                missing[key] = tuple(dict.fromkeys(groups))
            continue
        if other and isinstance(key, MachineKey):
            stands_in.append(key)
        age = (today - price.read).days
        if 0 <= age <= days:
            good += 1
        else:
            old.append(OldPrice(key=key, price=price, days=age))
    return PriceBookCheck(missing=missing, old=tuple(old), stands_in=tuple(stands_in), good=good)
