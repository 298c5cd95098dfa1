"""Content of the map of an environment, as texts and shares, before layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from longhaul.show.map.fonts import CODE, NAME, QUIET, TEXT, Font


@dataclass(frozen=True, kw_only=True)
class CardLine:
    """One line of a card: a name on the left, its value on the right."""

    left: str
    right: str = ""
    left_face: Font = TEXT
    right_face: Font = CODE
    tag: str = ""
    """Word in a pill after the left text."""
    swatch: str = ""
    """Part of the site's range whose colour is shown before the line."""
    inside: bool = False
    """True when the line belongs to the preceding line with a colour."""
    starts: bool = False
    """True when an entry begins here, with some space above."""


@dataclass(frozen=True, kw_only=True)
class CardSection:
    """A part of a card under a heading."""

    title: str
    note: str = ""
    lines: tuple[CardLine, ...] = ()
    panel: bool = False
    """True when the section has a separate background, as the control plane's has."""


@dataclass(frozen=True, kw_only=True)
class RangePart:
    """A range inside another range, as shares of the outer range's addresses."""

    name: str
    css: str
    range: IPv4Network
    start: float
    share: float


@dataclass(frozen=True, kw_only=True)
class SiteFacts:
    """Content of a card."""

    name: str
    kind: str
    """``azure``, ``aws`` or ``onprem``."""
    where: str
    block: IPv4Network
    parts: tuple[RangePart, ...]
    ranges: tuple[CardLine, ...]
    sections: tuple[CardSection, ...]


@dataclass(frozen=True, kw_only=True)
class LinkFacts:
    """A link between two sites."""

    first: str
    second: str
    kind: str
    """``ipsec``, ``backbone`` or ``existing``."""
    note: str
    """Text about how it is made: a number of tunnels, ``peering`` or ``circuit``."""
    limit: str = ""
    """Largest throughput and what sets it; empty when it is unknown. Only the link's title has it, for labels have no
    room."""


@dataclass(frozen=True, kw_only=True)
class MapFacts:
    """Content of the map."""

    name: str
    subtitle: str
    """Domain and versions."""
    summary: str
    """Description in a few sentences, for screen readers."""
    figures: tuple[tuple[str, str], ...]
    """Numbers, each with the name of what it counts."""
    supernet: IPv4Network
    parts: tuple[RangePart, ...]
    """Parts of the supernet."""
    shared: tuple[tuple[str, str], ...]
    """Names and addresses outside all sites."""
    sites: tuple[SiteFacts, ...]
    links: tuple[LinkFacts, ...] = field(default=())


def part_of(outer: IPv4Network, inner: IPv4Network, *, name: str, css: str) -> RangePart:
    """Return ``inner`` as a share of ``outer``."""
    offset = int(inner.network_address) - int(outer.network_address)
    return RangePart(
        name=name,
        css=css,
        range=inner,
        start=offset / outer.num_addresses,
        share=inner.num_addresses / outer.num_addresses,
    )


def entry(
    name: str, value: str, *, under: str = "", beside: str = "", tag: str = "", face: Font = NAME
) -> Iterator[CardLine]:
    """Yield two lines about one thing: its name and, in ``face``, the main value; below them the details, if there are
    any."""
    yield CardLine(left=name, right=value, left_face=NAME, right_face=face, tag=tag, starts=True)
    if under or beside:
        yield CardLine(left=under, right=beside, left_face=QUIET, right_face=QUIET)
