"""Draws the parts above and below the sites: the environment's name, its numbers, its supernet, the legend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from longhaul.show.map.card import bar
from longhaul.show.map.facts import MapFacts
from longhaul.show.map.fonts import CODE, FIGURE, HEAD, QUIET, SMALL, TEXT, TITLE, Font
from longhaul.show.map.shapes import Box, Shape, text

_COLUMN = 24
"""Space between two columns, pixels."""
_SAMPLE = 52
"""Distance from a line in the legend to its words, pixels."""

LINK_KINDS = {
    "ipsec": "IPsec tunnels",
    "backbone": "a cloud's backbone",
    "existing": "an existing circuit",
}
"""Words of the legend, by kind of link."""


@dataclass(frozen=True, kw_only=True)
class Band:
    """Shapes across the page, and the height at which they end, pixels."""

    shapes: tuple[Shape, ...]
    bottom: float


def heading(facts: MapFacts, *, left: float, room: float) -> Band:
    """Place the name, the figures, the supernet and the shared addresses, in a width of ``room`` pixels."""
    shapes: list[Shape] = [text(left, 66, facts.name, TITLE, room=room)]
    shapes.append(text(left, 88, facts.subtitle, SMALL, room=room))
    figures, y = _columns(facts.figures, faces=(FIGURE, SMALL), box=Box(x=left, y=88, width=room, height=52))
    y += 40
    shapes += figures
    shapes.append(text(left, y, "SUPERNET", HEAD, room=room))
    shapes.append(text(left + room, y, str(facts.supernet), CODE, room=room, anchor="end"))
    shapes += bar(facts.parts, Box(x=left, y=y + 10, width=room, height=14), radius=3)
    y += 40
    shapes.append(text(left, y, str(facts.supernet[0]), QUIET, room=room / 2))
    shapes.append(text(left + room, y, str(facts.supernet[-1]), QUIET, room=room / 2, anchor="end"))
    swapped = tuple((where, what) for what, where in facts.shared)
    shared, y = _columns(swapped, faces=(CODE, SMALL), box=Box(x=left, y=y, width=room, height=44))
    return Band(shapes=(*shapes, *shared), bottom=y + 6)


def _columns(pairs: Iterable[tuple[str, str]], *, faces: tuple[Font, Font], box: Box) -> tuple[list[Shape], float]:
    """Place pairs of texts, the first above the second, in rows below ``box.y`` that are filled from left to right.
    Return the shapes and the height at which they end. A row is ``box.height`` high."""
    shapes: list[Shape] = []
    x, y = box.right, box.y
    for above, below in pairs:
        width = max(faces[0].width(above), faces[1].width(below))
        if x + width > box.right:
            x, y = box.x, y + box.height
        shapes.append(text(x, y - 16, above, faces[0], room=box.width))
        shapes.append(text(x, y, below, faces[1], room=box.width))
        x += width + _COLUMN
    return shapes, y


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Position of a kind of link in the legend."""

    x: float
    y: float
    kind: str


def legend(facts: MapFacts, *, left: float, room: float, y: float) -> tuple[Band, tuple[Sample, ...]]:
    """Place the legend of the kinds of links on this map, from ``y`` downwards; empty when there are no links."""
    kinds = [kind for kind in LINK_KINDS if any(link.kind == kind for link in facts.links)]
    if not kinds:
        return Band(shapes=(), bottom=y), ()
    y += 44
    shapes: list[Shape] = [text(left, y, "LINKS", HEAD, room=room)]
    samples: list[Sample] = []
    x = left + room
    for kind in kinds:
        width = _SAMPLE + TEXT.width(LINK_KINDS[kind])
        if x + width > left + room:
            x, y = left, y + 22
        samples.append(Sample(x=x, y=y - 4, kind=kind))
        shapes.append(text(x + _SAMPLE, y, LINK_KINDS[kind], TEXT, room=room))
        x += width + _COLUMN
    return Band(shapes=tuple(shapes), bottom=y), tuple(samples)
