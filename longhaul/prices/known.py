"""A project's prices as other commands take them: the book, and where it is from in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from components.model import Environment
from longhaul.prices.book import PriceBook
from longhaul.prices.cost import EnvironmentCost, price_of


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
    def source(self) -> str:
        """The file and the days that its prices are of."""
        days = sorted({price.read.isoformat() for price in self.book.prices.values()})
        return f"{self.path.name}, prices of {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "")

    def cost(self, environment: Environment) -> EnvironmentCost:
        """What ``environment`` costs by them."""
        return price_of(environment, self.book)
