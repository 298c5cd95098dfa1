"""Whether a price book is good enough for an environment: what it lacks, and what is too old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from clouds.base.prices import HostKey, Key, MachineKey, Price
from components.model import Environment
from longhaul.prices import OLD_DAYS
from longhaul.prices.book import PriceBook
from longhaul.prices.needs import needs


@dataclass(frozen=True, kw_only=True)
class OldPrice:
    """A price that is not of these days."""

    key: Key
    price: Price
    days: int
    """Since it was read; below 0 when that is still to come."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """What is to be said of a book."""

    missing: dict[Key, tuple[str, ...]]
    """What has no price, with the groups that need it."""
    old: tuple[OldPrice, ...]
    stands_in: tuple[MachineKey, ...]
    """Spare capacity without a price of its own, counted at the ordinary one."""
    good: int
    """Prices that are there and young enough."""

    @property
    def well(self) -> bool:
        """Whether nothing is missing or old."""
        return not self.missing and not self.old


def check(environment: Environment, book: PriceBook, *, today: date, days: int = OLD_DAYS) -> Check:
    """What ``book`` lacks for ``environment`` and what in it is older than ``days``. Hosts need no price."""
    users: dict[Key, list[str]] = {}
    for need in needs(environment):
        users.setdefault(need.key, []).append(need.group)
    missing: dict[Key, tuple[str, ...]] = {}
    old: list[OldPrice] = []
    stands_in: list[MachineKey] = []
    good = 0
    for key, groups in users.items():
        price, other = _price(key, book)
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
    return Check(missing=missing, old=tuple(old), stands_in=tuple(stands_in), good=good)


def _price(key: Key, book: PriceBook) -> tuple[Price | None, bool]:
    """The price, and whether it is the one that stands in."""
    price = book.find(key)
    if price is None and isinstance(key, MachineKey) and key.spot:
        return book.find(key.on_demand()), True
    return price, False
