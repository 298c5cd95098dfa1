"""Draws the map as one SVG document, and as an HTML page around it."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from clouds.registry import clouds
from components.model import Environment
from longhaul.show.map.card import PAD
from longhaul.show.map.facts import MapFacts
from longhaul.show.map.fonts import CLOUD, LABEL
from longhaul.show.map.gather import gather
from longhaul.show.map.heading import LINK_KINDS, Sample, heading, legend
from longhaul.show.map.layout import (
    LABEL_PAD,
    MARGIN,
    CardPlace,
    GroupPlace,
    Layout,
    LinkPlace,
    label,
    layout,
    page_width,
)
from longhaul.show.map.shapes import Box, Mark, Plate, Shape, text
from longhaul.show.map.style import page_colours, style_sheet
from longhaul.show.map.svg import clean, draw, group, number, rectangle, way

_ABOVE_SITES = 32


def svg(environment: Environment) -> str:
    """Return the map of ``environment`` as an SVG document that needs no other file. The same environment gives the
    same bytes."""
    return tostring(_picture(gather(environment)), encoding="unicode") + "\n"


def html(environment: Environment) -> str:
    """Return the map of ``environment`` as an HTML page."""
    light, dark = page_colours()
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(clean(_title(environment.name)))}</title>
<style>
body {{ margin: 0; background: {light}; }}
main {{ overflow-x: auto; }}
svg {{ display: block; margin: 0 auto; }}
@media (prefers-color-scheme: dark) {{ body {{ background: {dark}; }} }}
@media print {{ svg {{ width: 100%; height: 98vh; }} }}
</style>
</head>
<body>
<main>
{svg(environment)}</main>
</body>
</html>
"""


def _title(name: str) -> str:
    return f"Map of {name}"


def _picture(facts: MapFacts) -> Element:
    width = page_width(facts)
    room = width - 2 * MARGIN
    head = heading(facts, left=MARGIN, room=room)
    placed = layout(facts, top=head.bottom + _ABOVE_SITES, width=width)
    foot, samples = legend(facts, left=MARGIN, room=room, y=placed.bottom)
    height = foot.bottom + MARGIN
    root = _root(facts, width, height)
    rectangle(root, Box(x=0, y=0, width=width, height=height), css="page")
    draw(group(root, title=f"Environment {facts.name}"), head.shapes)
    for place in placed.groups:
        _group(root, place)
    _links(root, placed)
    if samples:
        _legend(root, samples, foot.shapes)
    indent(root, space=" ")
    return root


def _root(facts: MapFacts, width: float, height: float) -> Element:
    size = {"width": number(width), "height": number(height)}
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "map",
            "viewBox": f"0 0 {size['width']} {size['height']}",
            **size,
            "role": "graphics-document",
            "aria-labelledby": "map-title",
            "aria-describedby": "map-desc",
        },
    )
    SubElement(root, "title", {"id": "map-title"}).text = clean(_title(facts.name))
    SubElement(root, "desc", {"id": "map-desc"}).text = clean(facts.summary)
    SubElement(root, "style").text = style_sheet()
    return root


def _group(root: Element, place: GroupPlace) -> None:
    title = clouds()[place.kind].picture.title
    element = group(root, css=f"sites {place.kind}", title=title)
    rectangle(element, place.box, css="group", radius=12)
    heading_ = text(place.box.x + PAD, place.box.y + 22, title, CLOUD, room=place.box.width - 2 * PAD)
    draw(element, [heading_])
    for card in place.cards:
        _card(element, card)


def _card(parent: Element, place: CardPlace) -> None:
    site, box = place.site, place.box
    title = clouds()[site.kind].picture.title
    element = group(parent, css="site", title=f"Site {site.name}: {title}, {site.where}, {site.block}")
    rectangle(element, box, css="card", radius=8)
    stripe = Box(x=box.x + PAD, y=box.y, width=36, height=4)
    draw(element, [Plate(box=stripe, css="accent"), *place.shapes])


def _links(root: Element, placed: Layout) -> None:
    """Draw all lines, then all labels, so that no line covers a label. Screen readers get the lines' titles and not the
    labels."""
    if not placed.links:
        return
    lines = group(root, css="links", title="Links")
    for place in placed.links:
        _link(lines, place)
    labels = SubElement(root, "g", {"aria-hidden": "true"})
    for place in placed.links:
        box, words = place.label, label(place.link)
        room = box.width - 2 * LABEL_PAD + 1
        plate = Plate(box=box, css="plate", radius=9)
        written = text(box.middle, box.y + 13, words, LABEL, room=room, anchor="middle")
        draw(group(labels, css=place.link.kind), [plate, written])


def _link(parent: Element, place: LinkPlace) -> None:
    """Draw the line on top of a broader line in the colour of the background, so that the link visibly passes over the
    lines that it crosses."""
    link = place.link
    limit = f"; at most {link.limit}" if link.limit else ""
    title = f"{link.first} to {link.second}: {LINK_KINDS[link.kind]}, {link.note}{limit}"
    element = group(parent, css=f"link {link.kind}", title=title)
    _strokes(element, way(place.start, place.track, place.end), link.kind)
    css = "port full" if link.kind == "ipsec" else "port"
    square = link.kind == "backbone"
    draw(element, [Mark(x=x, y=y, css=css, square=square) for x, y in (place.start, place.end)])


def _strokes(parent: Element, path: str, kind: str) -> None:
    layers = ("halo", "line", "inner") if kind == "backbone" else ("halo", "line")
    for layer in layers:
        SubElement(parent, "path", {"class": layer, "d": path})


def _legend(root: Element, samples: Iterable[Sample], shapes: Iterable[Shape]) -> None:
    element = group(root, title="Legend")
    for sample in samples:
        _strokes(group(element, css=sample.kind), f"M{number(sample.x)} {number(sample.y)} h42", sample.kind)
    draw(element, shapes)
