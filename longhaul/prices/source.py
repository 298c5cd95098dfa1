"""What every source of prices answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from longhaul.prices.book import Price, plain
from longhaul.prices.keys import Key

Say = Callable[[str], None]
"""Takes a line about progress, for people."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a source has for what it was asked."""

    prices: Mapping[Key, Price] = field(default_factory=dict)
    missing: Mapping[Key, str] = field(default_factory=dict)
    """Why there is no price."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Prices that are read together: after each, the file is written."""

    name: str
    """For lines about progress."""
    keys: tuple[Key, ...]
    read: Callable[[Say], Answer]
    """Reads them; ``WebError`` when the interface cannot be read."""


def only(key: Key, amounts: set[Decimal], *, source: str, today: date) -> Answer:
    """The hourly price in US dollars that a source has for ``key``, of the amounts that fit its description: there has
    to be one. A price that is chosen among several would be a guess."""
    if len(amounts) == 1:
        (amount,) = amounts
        price = Price(amount=amount, currency="USD", unit="hour", source=source, read=today)
        return Answer(prices={key: price})
    if not amounts:
        return Answer(missing={key: f"no such price in {source}"})
    several = ", ".join(plain(amount) for amount in sorted(amounts))
    return Answer(missing={key: f"several prices that this could be ({several}) in {source}"})


def joined(answers: list[Answer]) -> Answer:
    """All of them in one."""
    return Answer(
        prices={key: price for answer in answers for key, price in answer.prices.items()},
        missing={key: why for answer in answers for key, why in answer.missing.items()},
    )
