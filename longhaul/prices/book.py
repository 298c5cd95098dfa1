"""The price book: prices by what they are for, read from a file that is checked as strictly as an environment's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path

from clouds.base.fault import Fault, Location
from clouds.base.prices import HostKey, Key, MachineKey, Part, PartKey, Price
from components.model.document import Document, read_document
from components.model.errors import ConfigurationError, Problem
from components.model.machine_types import CloudKind
from components.model.validate import validate
from longhaul.prices.entries import Entry, HostEntry, MachineEntry, PartEntry, PriceFile
from longhaul.prices.names import name_of


class BookError(ConfigurationError):
    """The price file cannot be used; carries every problem found."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        count = len(problems)
        head = f"{count} problem{'s' if count != 1 else ''} in the price file:"
        self.args = ("\n".join([head, *(f"  {problem}" for problem in problems)]),)


@dataclass(frozen=True)
class PriceBook:
    """Prices by what they are for."""

    prices: Mapping[Key, Price] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> PriceBook:
        """The book in the file ``path``; ``BookError`` with everything that is wrong with it, by file and line."""
        try:
            document = read_document(path)
        except ConfigurationError as error:
            raise BookError(error.problems) from None
        read = validate(PriceFile, document.data)
        findings = list(read.findings)
        if read.value is not None:
            findings += [finding for finding in _conclusions(read.value) if finding.holds(read.broken)]
        if findings or read.value is None:
            problems = [_problem(finding, document, path) for finding in findings]
            raise BookError(tuple(sorted(problems, key=lambda problem: problem.line or 0)))
        return cls({key: _price(entry) for _, key, entry in _entries(read.value)})

    def find(self, key: Key) -> Price | None:
        """The price of ``key``; None when the book has none."""
        return self.prices.get(key)

    def hourly(self, *, cloud: CloudKind, region: str, machine_type: str, spot: bool) -> Price | None:
        """The price of a machine, its ``hourly`` for an hour; None when the book has none. That of spare capacity is
        never made up from the other, nor the other way round."""
        return self.find(MachineKey(cloud=cloud, region=region, machine_type=machine_type, spot=spot))

    def part(self, *, cloud: CloudKind, region: str, part: Part) -> Price | None:
        """The price of a part of a network; None when the book has none."""
        return self.find(PartKey(cloud=cloud, region=region, part=part))

    def host(self, *, site: str) -> Price | None:
        """What each host of an on-prem site costs; None when the book has no price for them."""
        return self.find(HostKey(site=site))

    def updated(self, prices: Mapping[Key, Price]) -> PriceBook:
        """The same book with ``prices`` in place of its own for the same things."""
        return PriceBook({**self.prices, **prices})


def _price(entry: Entry) -> Price:
    return Price(
        amount=Decimal(entry.amount),
        currency=entry.currency,
        unit=entry.unit,
        source=entry.source,
        read=date.fromisoformat(entry.read),
        note=entry.note,
    )


def _entries(file: PriceFile) -> Iterator[tuple[Location, Key, Entry]]:
    """Every entry with its place in the file and what it is for."""
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
    """What is wrong with entries beyond the shape of their values."""
    seen: dict[Key, Location] = {}
    for place, key, entry in _entries(file):
        if not _is_day(entry.read):
            yield Fault(at=(*place, "read"), wrong=f"{entry.read!r} is no day of the calendar", write="a day there is")
        first = seen.setdefault(key, place)
        if first != place:
            wrong = f"is the second price of {name_of(key)}, after {'.'.join(map(str, first))}"
            yield Fault(at=place, wrong=wrong, write="one of the two", basis=(first,))


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _problem(finding: Fault, document: Document, path: Path) -> Problem:
    key = ".".join(map(str, finding.at))
    return Problem(file=str(path), line=document.line(finding.at), key=key, wrong=finding.wrong, write=finding.write)
