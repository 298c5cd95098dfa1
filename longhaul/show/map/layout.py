"""Places everything on the map: two rows of cards, the sites of one cloud together, and the links between the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil

from clouds.registry import clouds
from longhaul.show.map.card import PAD, card, card_width
from longhaul.show.map.channel import GRID, Course, End, Wire, courses, narrowest
from longhaul.show.map.facts import LinkFacts, MapFacts, SiteFacts
from longhaul.show.map.fonts import LABEL
from longhaul.show.map.shapes import Box, Shape, moved

MARGIN = 40
TRACK = 26
"""Distance between two tracks, pixels; a label is 18 high."""
LABEL_PAD = 9
"""Space inside a label, left and right, pixels."""

_NARROWEST_PAGE = 560
_CARD_GAP = 24
_GROUP_GAP = 32
_GROUP_HEAD = 34
_CHANNEL_EDGE = 30


@dataclass(frozen=True, kw_only=True)
class CardPlace:
    """A card and its content."""

    site: SiteFacts
    box: Box
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, kw_only=True)
class GroupPlace:
    """Sites of one cloud in one row."""

    kind: str
    box: Box
    cards: tuple[CardPlace, ...]

    def at(self, y: float) -> GroupPlace:
        """Return the same group, moved down by ``y`` pixels."""
        cards = (replace(card, box=card.box.at(0, y), shapes=moved(card.shapes, 0, y)) for card in self.cards)
        return replace(self, box=self.box.at(0, y), cards=tuple(cards))


@dataclass(frozen=True, kw_only=True)
class LinkPlace:
    """Path of a link."""

    link: LinkFacts
    start: tuple[float, float]
    end: tuple[float, float]
    track: float
    label: Box


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The picture below its heading."""

    bottom: float
    groups: tuple[GroupPlace, ...]
    links: tuple[LinkPlace, ...]


Groups = tuple[tuple[str, tuple[SiteFacts, ...]], ...]
"""Clouds, each with its sites."""


def page_width(facts: MapFacts) -> float:
    """Return the width of the wider row with its margins, pixels."""
    wide = card_width_of_all(facts)
    return max(_NARROWEST_PAGE, *(_row_width(row, wide) for row in rows_of(facts))) + 2 * MARGIN


def layout(facts: MapFacts, *, top: float, width: float) -> Layout:
    """Place everything from ``top`` downwards, in the middle of a page of ``width`` pixels."""
    wide = card_width_of_all(facts)
    upper, lower = (_row(row, x=(width - _row_width(row, wide)) / 2, wide=wide) for row in rows_of(facts))
    upper = [group.at(top) for group in upper]
    bottom = upper[0].box.bottom
    if not facts.links:
        return Layout(bottom=bottom, groups=tuple(upper), links=())
    # The links' paths depend on the horizontal positions of the lower row's cards, and that row's height on the paths.
    links, below = _links(facts.links, upper, lower, y=bottom, width=width)
    lower = [group.at(below) for group in lower]
    return Layout(bottom=lower[0].box.bottom if lower else below, groups=(*upper, *lower), links=links)


def rows_of(facts: MapFacts) -> tuple[Groups, Groups]:
    """Assign the clouds to the two rows: as few cards side by side as possible, the control plane's cloud in the upper
    row. A cloud with far more sites than the other clouds takes part of both rows."""
    groups: list[tuple[str, tuple[SiteFacts, ...]]] = []
    half = ceil(len(facts.sites) / 2)
    for kind in dict.fromkeys(site.kind for site in facts.sites):
        sites = tuple(site for site in facts.sites if site.kind == kind)
        cut = half if len(sites) > half + 1 else len(sites)
        groups += [(kind, part) for part in (sites[:cut], sites[cut:]) if part]
    first = next(index for index, (_, sites) in enumerate(groups) if any(_has_control_plane(site) for site in sites))

    def cost(lower: tuple[bool, ...]) -> tuple[int, int, tuple[bool, ...]]:
        below = sum(len(sites) for (_, sites), low in zip(groups, lower, strict=True) if low)
        clouds_below = sum(clouds()[kind].rents for (kind, _), low in zip(groups, lower, strict=True) if low)
        return max(below, len(facts.sites) - below), clouds_below, lower

    choices = (choice for choice in product((False, True), repeat=len(groups)) if not choice[first])
    best = min(choices, key=cost)
    upper, lower = (
        tuple(group for group, low in zip(groups, best, strict=True) if low is wanted) for wanted in (False, True)
    )
    return upper, lower


def _has_control_plane(site: SiteFacts) -> bool:
    return any(section.panel for section in site.sections)


def card_width_of_all(facts: MapFacts) -> int:
    """Return the width of every card, pixels: the largest width that a card needs, so that all cards look alike."""
    widest = max(card_width(site) for site in facts.sites)
    return ceil(max(widest, narrowest(len(facts.sites) - 1)) / GRID) * GRID


def _row_width(row: Groups, wide: int) -> int:
    groups = [(wide + _CARD_GAP) * len(sites) - _CARD_GAP + 2 * PAD for _, sites in row]
    return sum(groups) + _GROUP_GAP * max(len(groups) - 1, 0)


def _row(row: Groups, *, x: float, wide: int) -> list[GroupPlace]:
    """Return the groups of a row at height 0. All its cards are as high as the highest."""
    drawn = {site.name: card(site, wide) for _, sites in row for site in sites}
    height = max((card_height for _, card_height in drawn.values()), default=0)
    placed = []
    for kind, sites in row:
        left, cards = x + PAD, []
        for site in sites:
            box = Box(x=left, y=_GROUP_HEAD, width=wide, height=height)
            cards.append(CardPlace(site=site, box=box, shapes=moved(drawn[site.name][0], box.x, box.y)))
            left = box.right + _CARD_GAP
        box = Box(x=x, y=0, width=left - _CARD_GAP + PAD - x, height=_GROUP_HEAD + height + PAD)
        placed.append(GroupPlace(kind=kind, box=box, cards=tuple(cards)))
        x = box.right + _GROUP_GAP
    return placed


def _links(
    links: Sequence[LinkFacts], upper: Sequence[GroupPlace], lower: Sequence[GroupPlace], *, y: float, width: float
) -> tuple[tuple[LinkPlace, ...], float]:
    """Return the links' paths below the upper row, whose bottom is at ``y``, and the height at which the lower row
    begins."""
    ends = dict(_ends(upper, lower=False)) | dict(_ends(lower, lower=True))
    wires = {link: Wire(first=link.first, second=link.second, label=label_width(link)) for link in links}
    ways = courses(list(wires.values()), ends, width=width)
    tracks = 1 + max(way.track for way in ways.values())
    below = y + 2 * _CHANNEL_EDGE + (tracks - 1) * TRACK
    placed = (_link(link, ways[wires[link]], ends, y=y, below=below) for link in links)
    return tuple(placed), below


def _ends(groups: Sequence[GroupPlace], *, lower: bool) -> Iterator[tuple[str, End]]:
    for group in groups:
        for place in group.cards:
            yield place.site.name, End(box=place.box, lower=lower)


def _link(link: LinkFacts, way: Course, ends: Mapping[str, End], *, y: float, below: float) -> LinkPlace:
    first, second = (_edge(ends[name], below) for name in (link.first, link.second))
    track = y + _CHANNEL_EDGE + way.track * TRACK
    label = Box(x=way.label_x - label_width(link) / 2, y=track - 9, width=label_width(link), height=18)
    return LinkPlace(link=link, start=(way.x1, first), end=(way.x2, second), track=track, label=label)


def _edge(end: End, below: float) -> float:
    """Return the height of the card's edge where links leave it. Heights of the lower row's cards count from zero."""
    return below + end.box.y if end.lower else end.box.bottom


def label_width(link: LinkFacts) -> float:
    """Return the width of a link's label, pixels."""
    return 2 * LABEL_PAD + LABEL.width(label(link))


def label(link: LinkFacts) -> str:
    """Return the text on a link."""
    return f"{link.first} – {link.second} · {link.note}"
