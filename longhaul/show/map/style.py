"""Colours and style sheet of the map: light, and dark when the reader's system asks for it.

The style sheet uses plain values and no variables, so that programs other than browsers draw the picture too, in the
light colours. The contrast of texts to their background is at least 4.5 to 1 in both schemes (w3.org, WCAG 2.2, 1.4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from clouds.registry import clouds
from longhaul.show.map.fonts import FACES, MONO, SANS

INK = {
    "ink": ("#17202b", "#e6edf3"),
    "soft": ("#566373", "#9fadbc"),
    "page": ("#f5f7fa", "#0e1319"),
    "group": ("#e9eef4", "#151c25"),
    "edge": ("#c9d2dd", "#35414f"),
    "card": ("#ffffff", "#1b242f"),
    "panel": ("#f1f5fa", "#232e3b"),
    "spare": ("#e3e8ee", "#2c3744"),
    "shared": ("#8793a1", "#7d8b9a"),
    "ipsec": ("#6d3fc4", "#b79bf7"),
    "backbone": ("#3d566e", "#a9bccf"),
    "existing": ("#b0287a", "#f28cc6"),
    "spot": ("#8a4b00", "#ffc27a"),
}
"""Each colour in light and in dark; clouds have their own (:func:`inks`)."""

_QUIET_TEXT = ("head", "small", "quiet")
LINKS = ("ipsec", "backbone", "existing")


def inks() -> dict[str, tuple[str, str]]:
    """Return every colour in light and in dark. A cloud's colour has the cloud's name."""
    drawn = {kind: cloud.picture for kind, cloud in clouds().items()}
    return {**INK, **{kind: (picture.light, picture.dark) for kind, picture in drawn.items()}}


def style_sheet() -> str:
    """Return the whole style sheet."""
    fixed = "\n".join(_fixed())
    dark = "\n".join(f"  {rule}" for rule in _colours(1))
    light = "\n".join(_colours(0))
    return f"\n{fixed}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def page_colours() -> tuple[str, str]:
    """Return the colours behind the picture, light and dark."""
    return INK["page"]


def _fixed() -> Iterator[str]:
    """Yield the rules that are the same in both colour schemes."""
    for face in FACES:
        weight = " font-weight: 700;" if face.bold else ""
        yield f".map .{face.css} {{ font-family: {MONO if face.mono else SANS}; font-size: {face.size:g}px;{weight} }}"
    yield ".map .block { font-weight: 600; }"
    yield ".map .nodes { fill-opacity: 0.66; }"
    yield ".map .pods { fill-opacity: 0.4; }"
    yield ".map .end { text-anchor: end; }"
    yield ".map .middle { text-anchor: middle; }"
    yield ".map .line { fill: none; stroke-width: 2; stroke-linejoin: round; }"
    yield ".map .halo { fill: none; stroke-width: 7; }"
    yield ".map .ipsec .line { stroke-dasharray: 7 4; }"
    yield ".map .existing .line { stroke-width: 3; stroke-dasharray: 0.1 6; stroke-linecap: round; }"
    yield ".map .backbone .line { stroke-width: 5; }"
    yield ".map .backbone .inner { fill: none; stroke-width: 2; }"
    yield ".map .links:hover .link:not(:hover) { opacity: 0.25; }"


def _colours(scheme: int) -> Iterator[str]:
    ink = {name: both[scheme] for name, both in inks().items()}
    yield f".map text {{ fill: {ink['ink']}; }}"
    yield f"{', '.join(f'.map .{name}' for name in _QUIET_TEXT)} {{ fill: {ink['soft']}; }}"
    yield f".map .page {{ fill: {ink['page']}; }}"
    yield f".map .group {{ fill: {ink['group']}; stroke: {ink['edge']}; }}"
    yield f".map .card {{ fill: {ink['card']}; stroke: {ink['edge']}; }}"
    yield f".map .panel {{ fill: {ink['panel']}; }}"
    yield f".map .spare {{ fill: {ink['spare']}; }}"
    yield f".map .shared {{ fill: {ink['shared']}; }}"
    yield f".map .pill {{ fill: none; stroke: {ink['spot']}; }}"
    yield f".map .tag {{ fill: {ink['spot']}; }}"
    yield f".map .halo, .map .backbone .inner {{ stroke: {ink['page']}; }}"
    yield f".map .plate {{ fill: {ink['page']}; }}"
    for cloud in clouds():
        yield f".map .{cloud} .accent, .map .accent.{cloud} {{ fill: {ink[cloud]}; }}"
        yield f".map .{cloud} .cloud {{ fill: {ink[cloud]}; }}"
    for kind in LINKS:
        yield f".map .{kind} .line {{ stroke: {ink[kind]}; }}"
        yield f".map .{kind} .port {{ fill: {ink['card']}; stroke: {ink[kind]}; stroke-width: 2; }}"
        yield f".map .{kind} .port.full {{ fill: {ink[kind]}; }}"
        yield f".map .{kind} .plate {{ fill: {ink['page']}; stroke: {ink[kind]}; }}"
