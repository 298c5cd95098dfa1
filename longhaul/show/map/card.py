"""Draws a site's card: computes its width and height, and the position of each of its texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from longhaul.show.map.facts import CardLine, CardSection, RangePart, SiteFacts
from longhaul.show.map.fonts import BLOCK, HEAD, SITE, SMALL, TAG, Font
from longhaul.show.map.shapes import Box, Plate, Shape, text

PAD = 16
NARROWEST, WIDEST = 316, 460
"""Bounds of a card's width, pixels. Between them, its longest line determines the width."""

_GAP = 14
"""Space between the left and the right text of a line, pixels."""
_LINE = 17
_BEFORE_ENTRY = 5
_SWATCH = 14
_BAR = 9
_SHARE = 0.58
"""Share of a line that its right text gets when both texts are too long."""


@dataclass(kw_only=True)
class _Pen:
    """Writes lines from top to bottom."""

    width: float
    y: float = 0
    shapes: list[Shape] = field(default_factory=list)

    @property
    def room(self) -> float:
        return self.width - 2 * PAD

    def pair(self, left: str, right: str, *, faces: tuple[Font, Font], indent: float = 0, tail: float = 0) -> float:
        """Write two texts on this line and return the width of the left text; ``tail`` pixels stay free after it."""
        room = self.room - indent - (tail + 6 if tail else 0)
        wanted_left, wanted_right = faces[0].width(left), faces[1].width(right)
        if right and wanted_left + _GAP + wanted_right > room:
            wanted_right = min(wanted_right, max(_SHARE * room, room - _GAP - wanted_left))
            wanted_left = room - _GAP - wanted_right
        first = text(PAD + indent, self.y, left, faces[0], room=min(wanted_left, room))
        self.shapes.append(first)
        if right:
            self.shapes.append(
                text(self.width - PAD, self.y, right, faces[1], room=min(wanted_right, room), anchor="end")
            )
        return faces[0].width(first.shown)


def card_width(site: SiteFacts) -> float:
    """Return the width that the site's longest line needs, pixels, within the bounds."""
    lines = [*site.ranges, *(line for section in site.sections for line in section.lines)]
    wanted = [_line_width(line) for line in lines]
    wanted.append(SITE.width(site.name) + _GAP + BLOCK.width(str(site.block)))
    wanted.append(SMALL.width(site.where))
    wanted += [HEAD.width(section.title.upper()) + _GAP + SMALL.width(section.note) for section in site.sections]
    return min(max(NARROWEST, *(width + 2 * PAD for width in wanted)), WIDEST)


def _line_width(line: CardLine) -> float:
    tag = _tag_width(line.tag) + 6 if line.tag else 0
    indent = _SWATCH if line.swatch or line.inside else 0
    gap = _GAP if line.right else 0
    return indent + line.left_face.width(line.left) + tag + gap + line.right_face.width(line.right)


def _tag_width(tag: str) -> float:
    return TAG.width(tag) + 12


def card(site: SiteFacts, width: float) -> tuple[tuple[Shape, ...], float]:
    """Return the shapes on the card, relative to its corner, and its height."""
    pen = _Pen(width=width)
    pen.y = 32
    pen.pair(site.name, str(site.block), faces=(SITE, BLOCK))
    pen.y += 18
    pen.pair(site.where, "", faces=(SMALL, SMALL))
    pen.y += 12
    pen.shapes += bar(site.parts, Box(x=PAD, y=pen.y, width=pen.room, height=_BAR))
    pen.y += _BAR + 2
    for line in site.ranges:
        _line(pen, line)
    for section in site.sections:
        _section(pen, section)
    return tuple(pen.shapes), pen.y + PAD


def bar(parts: tuple[RangePart, ...], box: Box, *, radius: float = 2) -> Iterator[Plate]:
    """Yield a range and its parts. Each part is as wide as its share of the addresses, but wide enough to be seen."""
    yield Plate(box=box, css="spare", radius=radius, title="spare")
    for part in parts:
        width = max(part.share * box.width, 2)
        place = Box(x=box.x + part.start * box.width, y=box.y, width=width, height=box.height)
        yield Plate(box=place, css=part.css, title=f"{part.name}: {part.range}")


def _section(pen: _Pen, section: CardSection) -> None:
    pen.y += 12
    top, before = pen.y, len(pen.shapes)
    pen.y += 16
    pen.pair(section.title.upper(), section.note, faces=(HEAD, SMALL))
    pen.y += 2
    for line in section.lines:
        _line(pen, line)
    if section.panel:
        inset = PAD / 2
        box = Box(x=inset, y=top, width=pen.width - 2 * inset, height=pen.y + inset - top)
        pen.shapes.insert(before, Plate(box=box, css="panel", radius=6))
        pen.y += inset / 2


def _line(pen: _Pen, line: CardLine) -> None:
    pen.y += _LINE + (_BEFORE_ENTRY if line.starts else 0)
    indent = _SWATCH if line.swatch or line.inside else 0
    if line.swatch:
        box = Box(x=PAD, y=pen.y - 9, width=9, height=9)
        pen.shapes.append(Plate(box=box, css=f"accent {line.swatch}", radius=2))
    tag = _tag_width(line.tag) if line.tag else 0
    taken = pen.pair(line.left, line.right, faces=(line.left_face, line.right_face), indent=indent, tail=tag)
    if line.tag:
        box = Box(x=PAD + indent + taken + 6, y=pen.y - 12, width=tag, height=16)
        pen.shapes.append(Plate(box=box, css="pill", radius=8))
        pen.shapes.append(text(box.middle, pen.y, line.tag, TAG, room=tag, anchor="middle"))
