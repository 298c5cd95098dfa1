"""A project's prices for other commands: the book, and text about its source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from components.model import Environment
from components.model.prices.book import PriceBook
from longhaul.costs.cost import EnvironmentCost, price_of


@dataclass(frozen=True, kw_only=True)
class KnownPrices:
    """Prices from a file."""

    book: PriceBook
    path: Path

    @classmethod
    def of_file(cls, path: Path) -> KnownPrices | None:
        """Read the prices in ``path``; return None when the file does not exist or has no prices. Raise ``BookError``
        for an invalid file."""
        book = PriceBook.load(path) if path.exists() else PriceBook()
        return cls(book=book, path=path) if book.prices else None

    @property
    def source(self) -> str:
        """Return the name of the file, and the dates of its prices."""
        days = sorted({price.read.isoformat() for price in self.book.prices.values()})
        return f"{self.path.name}, prices of {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "")

    def cost(self, environment: Environment) -> EnvironmentCost:
        """Compute the cost of ``environment`` with these prices."""
        return price_of(environment, self.book)
