"""A price book as others ask it: one currency, plain amounts, and where they are from in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from components.model import Environment
from components.model.machine_types import Cloud
from longhaul.prices.book import PriceBook
from longhaul.prices.cost import price_of


@dataclass(frozen=True, kw_only=True)
class Sums:
    """What an environment costs in a month of 730 hours, in the known prices' currency."""

    least: Decimal
    """With every pool at its ``min``."""
    most: Decimal
    """With every pool at its ``max``."""
    unpriced: tuple[str, ...]
    """Names of what is not in the sums: its price is not known, or in another currency."""


@dataclass(frozen=True, kw_only=True)
class KnownPrices:
    """The prices of a file."""

    book: PriceBook
    path: Path

    @classmethod
    def of_file(cls, path: Path) -> KnownPrices | None:
        """The prices in ``path``; None when there is no such file or no price in it, ``BookError`` when it is wrong."""
        book = PriceBook.load(path) if path.exists() else PriceBook()
        return cls(book=book, path=path) if book.prices else None

    @property
    def currency(self) -> str:
        """That of most of the prices; the others are not converted, and so not known here."""
        counts = Counter(price.currency for price in self.book.prices.values())
        return min(counts, key=lambda currency: (-counts[currency], currency))

    @property
    def source(self) -> str:
        """The file and the days that its prices are of."""
        days = sorted({price.read.isoformat() for price in self.book.prices.values()})
        return f"{self.path}, prices of {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "")

    def __call__(self, *, cloud: Cloud, region: str, machine_type: str, spot: bool) -> Decimal | None:
        """What one machine costs an hour; None when that is not known."""
        price = self.book.hourly(cloud=cloud, region=region, machine_type=machine_type, spot=spot)
        return price.hourly if price is not None and price.currency == self.currency else None

    def sums(self, environment: Environment) -> Sums:
        """What ``environment`` costs a month, networks and hosts with it."""
        cost = price_of(environment, self.book)
        foreign = tuple(
            f"{line.need.name}, which is in {line.price.currency}"
            for line in cost.lines
            if line.price is not None and line.price.currency != self.currency
        )
        return Sums(
            least=cost.minimum.monthly.in_currency(self.currency),
            most=cost.maximum.monthly.in_currency(self.currency),
            unpriced=(*cost.unpriced, *foreign),
        )
