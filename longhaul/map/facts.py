"""What the map says of an environment, in words and shares, before anything has a place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from longhaul.map.faces import CODE, NAME, QUIET, TEXT, Face


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a card: something on the left, what it is or has on the right."""

    left: str
    right: str = ""
    left_face: Face = TEXT
    right_face: Face = CODE
    tag: str = ""
    """A word in a pill behind the left text."""
    swatch: str = ""
    """The part of the block whose colour stands before the line."""
    inside: bool = False
    """Whether it belongs to the line with a colour before it."""
    starts: bool = False
    """Whether an entry begins here, so that a little room is left above."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a card under a heading."""

    title: str
    note: str = ""
    lines: tuple[Line, ...] = ()
    panel: bool = False
    """Whether it stands on a ground of its own: the control plane."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A range inside another, as shares of the outer one's addresses."""

    name: str
    css: str
    range: IPv4Network
    start: float
    share: float


@dataclass(frozen=True, kw_only=True)
class SiteFacts:
    """A card's content."""

    name: str
    kind: str
    """``azure``, ``aws`` or ``onprem``."""
    where: str
    block: IPv4Network
    parts: tuple[Part, ...]
    ranges: tuple[Line, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, kw_only=True)
class LinkFacts:
    """A link between two sites."""

    first: str
    second: str
    kind: str
    """``ipsec``, ``backbone`` or ``existing``."""
    note: str
    """What it is made of."""


@dataclass(frozen=True, kw_only=True)
class MapFacts:
    """Everything on the map."""

    name: str
    subtitle: str
    """Domain and versions."""
    summary: str
    """One sentence for who hears the picture."""
    figures: tuple[tuple[str, str], ...]
    """Numbers and what they count."""
    supernet: IPv4Network
    parts: tuple[Part, ...]
    """Of the supernet."""
    shared: tuple[tuple[str, str], ...]
    """What belongs to no site, and where it is."""
    sites: tuple[SiteFacts, ...]
    links: tuple[LinkFacts, ...] = field(default=())


def part_of(outer: IPv4Network, inner: IPv4Network, *, name: str, css: str) -> Part:
    """``inner`` as a share of ``outer``."""
    offset = int(inner.network_address) - int(outer.network_address)
    return Part(
        name=name,
        css=css,
        range=inner,
        start=offset / outer.num_addresses,
        share=inner.num_addresses / outer.num_addresses,
    )


def entry(
    name: str, value: str, *, under: str = "", beside: str = "", tag: str = "", face: Face = NAME
) -> Iterator[Line]:
    """Two lines about one thing: its name and, in ``face``, the value that matters; below them what else there is."""
    yield Line(left=name, right=value, left_face=NAME, right_face=face, tag=tag, starts=True)
    if under or beside:
        yield Line(left=under, right=beside, left_face=QUIET, right_face=QUIET)


def counted(number: int, one: str, many: str = "") -> str:
    """``1 host``, ``1,000 hosts``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: Sequence[str]) -> str:
    """``a``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
