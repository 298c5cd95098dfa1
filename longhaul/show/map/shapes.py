"""Elements of a picture: texts and boxes with positions, in pixels from the upper left corner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from longhaul.show.map.fonts import Font


@dataclass(frozen=True, kw_only=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Return the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Return the bottom edge."""
        return self.y + self.height

    @property
    def middle(self) -> float:
        """Return the horizontal middle."""
        return self.x + self.width / 2

    def at(self, x: float, y: float) -> Box:
        """Return the same box, moved by ``x`` and ``y``."""
        return Box(x=self.x + x, y=self.y + y, width=self.width, height=self.height)


@dataclass(frozen=True, kw_only=True)
class Text:
    """A line of text on its baseline; ``shown`` is the part that fits, ``whole`` the full text."""

    x: float
    y: float
    shown: str
    whole: str
    face: Font
    anchor: Literal["start", "middle", "end"] = "start"


@dataclass(frozen=True, kw_only=True)
class Plate:
    """A filled rectangle."""

    box: Box
    css: str
    radius: float = 0
    title: str = ""
    """Meaning of the plate, when it has no text."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """End of a line: a disc or a square around a point."""

    x: float
    y: float
    css: str
    square: bool = False


Shape = Text | Plate | Mark


def text(
    x: float,
    y: float,
    content: str,
    face: Font,
    *,
    room: float,
    anchor: Literal["start", "middle", "end"] = "start",
) -> Text:
    """Return a text of at most ``room`` pixels."""
    return Text(x=x, y=y, shown=face.fit(content, room), whole=content, face=face, anchor=anchor)


def moved(shapes: Iterable[Shape], x: float, y: float) -> tuple[Shape, ...]:
    """Return the shapes, each moved by ``x`` and ``y``."""
    return tuple(_moved(shape, x, y) for shape in shapes)


def _moved(shape: Shape, x: float, y: float) -> Shape:
    if isinstance(shape, Plate):
        return replace(shape, box=shape.box.at(x, y))
    return replace(shape, x=shape.x + x, y=shape.y + y)
