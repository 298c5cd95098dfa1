"""Sums of money. A price book may have several currencies, which are never converted: a sum has a part for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Money:
    """Amounts by currency. Amounts of zero are left out."""

    amounts: tuple[tuple[str, Decimal], ...] = ()

    @classmethod
    def of(cls, currency: str, amount: Decimal) -> Money:
        """Return an amount in one currency."""
        return cls.sum_of({currency: amount})

    @classmethod
    def sum_of(cls, amounts: Mapping[str, Decimal]) -> Money:
        """Return a sum of amounts by currency."""
        return cls(tuple(sorted((currency, amount) for currency, amount in amounts.items() if amount)))

    def __add__(self, other: Money) -> Money:
        amounts = dict(self.amounts)
        for currency, amount in other.amounts:
            amounts[currency] = amounts.get(currency, Decimal(0)) + amount
        return Money.sum_of(amounts)

    def __neg__(self) -> Money:
        return Money(tuple((currency, -amount) for currency, amount in self.amounts))

    def __sub__(self, other: Money) -> Money:
        return self + -other

    def __bool__(self) -> bool:
        return bool(self.amounts)

    def __str__(self) -> str:
        return self._text("")

    def signed(self) -> str:
        """Return the text of a difference, with a sign before each amount."""
        return self._text("+")

    def as_strings(self, to: Decimal = CENT) -> dict[str, str]:
        """Return amounts by currency for JSON, rounded to a multiple of ``to``."""
        return {currency: str(_rounded(amount, to)) for currency, amount in self.amounts}

    def _text(self, sign: str) -> str:
        """Return the text in whole cents, such as ``1,234.50 USD``; ``0`` when there is no amount."""
        return " and ".join(f"{_rounded(amount, CENT):{sign},} {currency}" for currency, amount in self.amounts) or "0"


def total(sums: Iterable[Money]) -> Money:
    """Return the total of all sums."""
    result = Money()
    for amount in sums:
        result += amount
    return result


def _rounded(amount: Decimal, to: Decimal) -> Decimal:
    return amount.quantize(to, rounding=ROUND_HALF_EVEN)
