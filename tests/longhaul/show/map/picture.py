"""Reads a drawn map back as a browser would: boxes, texts with their maximum widths, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from xml.etree.ElementTree import Element, fromstring

SVG = "{http://www.w3.org/2000/svg}"
EM = {"mono": 0.61, "sans": 0.62, "bold": 0.71}
"""Width of a character in a wide font, as a share of the font's size: DejaVu's own width for the monospaced font, more
than its average in words for the others."""
SLIM = frozenset(" .,:;-·ijltf")
"""Characters that take less than two thirds of that width, unless the font is monospaced."""


@dataclass(frozen=True, kw_only=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def holds(self, other: Box) -> bool:
        across = self.left <= other.left and other.right <= self.right
        return across and self.top <= other.top and other.bottom <= self.bottom


@dataclass(frozen=True, kw_only=True)
class Label:
    words: str
    box: Box


@dataclass(frozen=True, kw_only=True)
class Card:
    title: str
    box: Box
    texts: tuple[Label, ...]

    @property
    def words(self) -> list[str]:
        return [text.words for text in self.texts]


@dataclass(frozen=True, kw_only=True)
class Route:
    """A link: down or up at ``x1``, across at ``track``, down or up at ``x2``."""

    title: str
    kind: str
    x1: float
    y1: float
    track: float
    x2: float
    y2: float

    @property
    def across(self) -> tuple[float, float]:
        return min(self.x1, self.x2), max(self.x1, self.x2)

    def uprights(self) -> Iterator[tuple[float, float, float]]:
        """Yield x, top and bottom of the two vertical parts."""
        for x, y in ((self.x1, self.y1), (self.x2, self.y2)):
            yield x, min(y, self.track), max(y, self.track)


class Picture:
    def __init__(self, svg: str) -> None:
        self.root = fromstring(svg)
        style = self.root.findtext(f"{SVG}style") or ""
        rules = re.findall(
            r"\.map \.([\w-]+) \{ font-family: ([^;]+); font-size: ([\d.]+)px;( font-weight: 700;)?", style
        )
        self._faces = {
            name: (float(size), EM["mono" if "mono" in family.split(",")[0] else "bold" if bold else "sans"])
            for name, family, size, bold in rules
        }

    @cached_property
    def page(self) -> Box:
        return Box(left=0, top=0, right=float(self.root.attrib["width"]), bottom=float(self.root.attrib["height"]))

    @cached_property
    def groups(self) -> list[Box]:
        return [self._rect(group, "group") for group in self._of("sites")]

    @cached_property
    def cards(self) -> list[Card]:
        return [
            Card(title=_title(group), box=self._rect(group, "card"), texts=self._texts(group))
            for group in self._of("site")
        ]

    @cached_property
    def group_names(self) -> list[Label]:
        return [self._text(text) for group in self._of("sites") for text in group.findall(f"{SVG}text")]

    @cached_property
    def routes(self) -> list[Route]:
        return [_route(group) for group in self._of("link")]

    @cached_property
    def labels(self) -> list[Label]:
        """Return the labels of links: the words, and the plate below them."""
        plates = [group for group in self.root.iter(f"{SVG}g") if self._has(group, "plate")]
        return [Label(words=self._texts(group)[0].words, box=self._rect(group, "plate")) for group in plates]

    @cached_property
    def texts(self) -> tuple[Label, ...]:
        return self._texts(self.root)

    def titles(self) -> list[str]:
        return [element.text or "" for element in self.root.iter(f"{SVG}title")]

    def _of(self, css: str) -> list[Element]:
        return [group for group in self.root.iter(f"{SVG}g") if css in group.get("class", "").split()]

    def _has(self, group: Element, css: str) -> bool:
        return any(rect.get("class") == css for rect in group.findall(f"{SVG}rect"))

    def _rect(self, group: Element, css: str) -> Box:
        (rect,) = (rect for rect in group.findall(f"{SVG}rect") if rect.get("class") == css)
        x, y, width, height = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
        return Box(left=x, top=y, right=x + width, bottom=y + height)

    def _texts(self, group: Element) -> tuple[Label, ...]:
        return tuple(map(self._text, group.iter(f"{SVG}text")))

    def _text(self, element: Element) -> Label:
        face, anchor = [*element.attrib["class"].split(), "start"][:2]
        size, em = self._faces[face]
        words, x, y = element.text or "", float(element.attrib["x"]), float(element.attrib["y"])
        slim = em * 2 / 3 if em != EM["mono"] else em
        width = size * sum(slim if character in SLIM else em for character in words)
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        box = Box(left=left, top=y - 0.8 * size, right=left + width, bottom=y + 0.25 * size)
        return Label(words=words.strip(), box=box)


def _title(group: Element) -> str:
    return group.findtext(f"{SVG}title") or ""


def _route(group: Element) -> Route:
    path = group.find(f"{SVG}path")
    assert path is not None
    steps = re.fullmatch(r"M(\S+) (\S+) V\S+ Q(\S+) (\S+) \S+ \S+ H\S+ Q(\S+) (\S+) \S+ \S+ V(\S+)", path.attrib["d"])
    assert steps is not None, path.attrib["d"]
    x1, y1, again, track, x2, same, y2 = map(float, steps.groups())
    assert (again, same) == (x1, track)
    kind = group.attrib["class"].split()[1]
    return Route(title=_title(group), kind=kind, x1=x1, y1=y1, track=track, x2=x2, y2=y2)
