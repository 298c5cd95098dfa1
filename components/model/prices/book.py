"""The price book: prices by key, read from a file that is checked as strictly as an environment file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from clouds.base.faults import Fault, Location
from clouds.base.prices import HostKey, Key, MachineKey, PartKey, Price
from clouds.registry import clouds
from components.model.loading.document import Document, read_document
from components.model.loading.errors import ConfigurationError, Problem
from components.model.loading.validate import validate
from components.model.prices.entries import HostEntry, MachineEntry, PartEntry, PriceEntry, PriceFile


class BookError(ConfigurationError):
    """Raised when the price file cannot be used. It has every problem, not only the first."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        count = len(problems)
        head = f"{count} problem{'s' if count != 1 else ''} in the price file:"
        self.args = ("\n".join([head, *(f"  {problem}" for problem in problems)]),)


@dataclass(frozen=True)
class PriceBook:
    """Prices by key."""

    prices: Mapping[Key, Price] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> PriceBook:
        """Read the book from the file ``path``. Raise ``BookError`` with all problems, by file and line."""
        try:
            document = read_document(path)
        except ConfigurationError as error:
            raise BookError(error.problems) from None
        return cls._of(document, path)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> PriceBook:
        """Return the book with the content of a price file. Raise ``BookError`` with all problems."""
        return cls._of(Document(data=dict(content), lines={}), Path("prices"))

    @classmethod
    def _of(cls, document: Document, path: Path) -> PriceBook:
        read = validate(PriceFile, document.data)
        findings = list(read.findings)
        if read.value is not None:
            findings += [finding for finding in _conclusions(read.value) if finding.holds(read.broken)]
        if findings or read.value is None:
            problems = [_problem(finding, document, path) for finding in findings]
            raise BookError(tuple(sorted(problems, key=lambda problem: problem.line or 0)))
        return cls({key: _price(entry) for _, key, entry in _entries(read.value)})

    def find(self, key: Key) -> Price | None:
        """Return the price of ``key``; None when the book has none. A spot price and the ordinary price are never
        derived from each other."""
        return self.prices.get(key)

    def applied(self, key: Key) -> tuple[Price | None, bool]:
        """Return the price that applies to ``key``, and whether it is the ordinary price in place of a missing spot
        price."""
        price = self.find(key)
        if price is None and isinstance(key, MachineKey) and key.spot:
            return self.find(key.on_demand()), True
        return price, False

    def updated(self, prices: Mapping[Key, Price]) -> PriceBook:
        """Return the book with ``prices`` added; they replace the book's prices of the same keys."""
        return PriceBook({**self.prices, **prices})


def name_of(key: Key) -> str:
    """Return the name of the item that ``key`` prices, such as ``NAT gateway, AWS us-east-1``."""
    return f"host, {key.site}" if isinstance(key, HostKey) else key.named(clouds()[key.cloud].title)


def _price(entry: PriceEntry) -> Price:
    return Price(
        amount=Decimal(entry.amount),
        currency=entry.currency,
        unit=entry.unit,
        source=entry.source,
        read=date.fromisoformat(entry.read),
        note=entry.note,
    )


def _entries(file: PriceFile) -> Iterator[tuple[Location, Key, PriceEntry]]:
    """Yield every entry with its place in the file and its key."""
    yield from ((("machines", index), _machine(entry), entry) for index, entry in enumerate(file.machines))
    yield from ((("parts", index), _part(entry), entry) for index, entry in enumerate(file.parts))
    yield from ((("hosts", index), _host(entry), entry) for index, entry in enumerate(file.hosts))


def _machine(entry: MachineEntry) -> MachineKey:
    return MachineKey(cloud=entry.cloud, region=entry.region, machine_type=entry.machine_type, spot=entry.spot)


def _part(entry: PartEntry) -> PartKey:
    return PartKey(cloud=entry.cloud, region=entry.region, part=entry.part)


def _host(entry: HostEntry) -> HostKey:
    return HostKey(site=entry.site)


def _conclusions(file: PriceFile) -> Iterator[Fault]:
    """Yield faults of entries beyond the shape of their values: impossible days, and second prices for one key."""
    places: dict[Key, Location] = {}
    for place, key, entry in _entries(file):
        if not _is_day(entry.read):
            yield Fault(
                at=(*place, "read"), wrong=f"{entry.read!r} is not a day of the calendar", write="a day there is"
            )
        first = places.setdefault(key, place)
        if first != place:
            wrong = f"is a second price of {name_of(key)}, after {'.'.join(map(str, first))}"
            yield Fault(at=place, wrong=wrong, write="one of the two", basis=(first,))


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _problem(finding: Fault, document: Document, path: Path) -> Problem:
    line = document.line(finding.at)
    return Problem(file=str(path), line=line, key=finding.key, wrong=finding.wrong, write=finding.write)
