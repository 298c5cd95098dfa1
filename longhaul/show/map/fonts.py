"""Fonts of the map, and the largest width that a text can have in each.

The font on a reader's machine is unknown, so widths are upper bounds: the metrics of DejaVu, rounded up. DejaVu is the
widest of the common sans-serif and monospaced families. A text that fits in DejaVu also fits in Segoe, San Francisco,
Roboto and Liberation.
"""

from __future__ import annotations

from dataclasses import dataclass

SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"

_NARROW = frozenset(" .,:;'|!()[]/-ijlftrI")
_WIDE = frozenset("mwMW@%&#+<=>^~")
_ELLIPSIS = "…"


@dataclass(frozen=True, kw_only=True)
class Font:
    """A class of text; ``size`` is in pixels of the picture."""

    css: str
    size: float
    mono: bool = False
    bold: bool = False

    def width(self, text: str) -> float:
        """Return the maximum width of ``text``, pixels."""
        if self.mono:
            return sum(0.61 if character.isascii() else 1.0 for character in text) * self.size
        return sum(map(_em, text)) * self.size * (1.13 if self.bold else 1.0)

    def fit(self, text: str, room: float) -> str:
        """Return ``text``, shortened to ``room`` pixels with an ellipsis when it is wider."""
        if self.width(text) <= room:
            return text
        kept = text
        while kept and self.width(kept + _ELLIPSIS) > room:
            kept = kept[:-1]
        return kept.rstrip() + _ELLIPSIS


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.44
    if character in "·–":
        return 0.5
    if character in _WIDE or not character.isascii():
        return 1.0
    return 0.79 if character.isupper() else 0.64


TITLE = Font(css="title", size=30, bold=True)
FIGURE = Font(css="figure", size=22, bold=True)
CLOUD = Font(css="cloud", size=13, bold=True)
SITE = Font(css="site-name", size=17, bold=True)
BLOCK = Font(css="block", size=13, mono=True)
HEAD = Font(css="head", size=11, bold=True)
NAME = Font(css="name", size=13, bold=True)
TEXT = Font(css="text", size=12)
SMALL = Font(css="small", size=11)
CODE = Font(css="code", size=11.5, mono=True)
QUIET = Font(css="quiet", size=11, mono=True)
LABEL = Font(css="label", size=11)
TAG = Font(css="tag", size=10, bold=True)

FACES = (TITLE, FIGURE, CLOUD, SITE, BLOCK, HEAD, NAME, TEXT, SMALL, CODE, QUIET, LABEL, TAG)
"""All faces, for the style sheet."""
