"""Writes shapes as SVG elements. Texts go through the XML library, which escapes them."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

from longhaul.show.map.shapes import Box, Mark, Plate, Shape, Text

_TURN = 7
"""Radius of a link's corners, pixels."""


def group(parent: Element, *, css: str = "", title: str = "") -> Element:
    """Add a group of elements, with a title for screen readers and for the pointer."""
    element = SubElement(parent, "g", {"class": css} if css else {})
    if title:
        element.set("role", "group")
        SubElement(element, "title").text = clean(title)
    return element


def draw(parent: Element, shapes: Iterable[Shape]) -> None:
    """Add the shapes, in their order."""
    for shape in shapes:
        if isinstance(shape, Text):
            _text(parent, shape)
        elif isinstance(shape, Plate):
            rectangle(parent, shape.box, css=shape.css, radius=shape.radius, title=shape.title)
        else:
            _mark(parent, shape)


def rectangle(parent: Element, box: Box, *, css: str, radius: float = 0, title: str = "") -> None:
    """Add a rectangle."""
    places = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
    if radius:
        places["rx"] = radius
    numbers = {key: number(value) for key, value in places.items()}
    element = SubElement(parent, "rect", {"class": css, **numbers})
    if title:
        SubElement(element, "title").text = clean(title)


def _text(parent: Element, shape: Text) -> None:
    css = shape.face.css if shape.anchor == "start" else f"{shape.face.css} {shape.anchor}"
    element = SubElement(parent, "text", {"class": css, "x": number(shape.x), "y": number(shape.y)})
    element.text = clean(shape.shown)
    if shape.shown != shape.whole:
        # The text itself comes before the title's element.
        SubElement(element, "title").text = clean(shape.whole)


def _mark(parent: Element, mark: Mark) -> None:
    if mark.square:
        box = Box(x=mark.x - 4, y=mark.y - 4, width=8, height=8)
        rectangle(parent, box, css=mark.css)
    else:
        SubElement(parent, "circle", {"class": mark.css, "cx": number(mark.x), "cy": number(mark.y), "r": "4.5"})


def way(start: tuple[float, float], track: float, end: tuple[float, float]) -> str:
    """Return the path of a link: straight to its track, along it, and straight to the other end, with rounded
    corners."""
    (x1, y1), (x2, y2) = start, end
    turn = min(_TURN, abs(x2 - x1) / 2)
    across = turn if x2 > x1 else -turn
    down, up = (turn if track > y1 else -turn), (turn if y2 > track else -turn)
    points = (
        f"M{number(x1)} {number(y1)}",
        f"V{number(track - down)}",
        f"Q{number(x1)} {number(track)} {number(x1 + across)} {number(track)}",
        f"H{number(x2 - across)}",
        f"Q{number(x2)} {number(track)} {number(x2)} {number(track + up)}",
        f"V{number(y2)}",
    )
    return " ".join(points)


def number(value: float) -> str:
    """Format a number of pixels, rounded to a tenth: smaller differences are invisible."""
    return f"{round(value, 1):g}" if abs(value) < 100_000 else str(round(value))


def clean(text: str) -> str:
    """Replace characters that are invalid in XML documents (w3.org, XML 1.0, production 2). They can occur because an
    environment file can give a machine type any name."""
    return "".join(character if _allowed(ord(character)) else "\N{REPLACEMENT CHARACTER}" for character in text)


def _allowed(code: int) -> bool:
    return code in (0x9, 0xA, 0xD) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
