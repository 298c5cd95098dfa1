"""Lines of text: tables that keep to a width, and what to write where there is no UTF-8."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest

WIDTH = 100
"""Columns that the text keeps to."""

LEAST = 16
"""Columns that a table's last column keeps, if it has them."""

INDENT = "  "

_ASCII = str.maketrans(
    {
        **dict.fromkeys("┌┐└┘├┤┬┴┏┓┳", "+"),
        **dict.fromkeys("─┄", "-"),
        **dict.fromkeys("│┆", "|"),
        "━": "=",
        "┃": "#",
        "║": "#",
        "×": "x",
        "…": "~",
    }
)
"""One character for one, so that what stood below each other still does."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """Aligned columns under ``head``; those numbered in ``right`` end alike. Where they are too wide together, cells
    are wrapped between words, from the last column to the first."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = _widths(list(zip(*lines, strict=True)))
    return [text for line in lines for text in _row(line, widths, right=right)]


def _widths(columns: Sequence[Sequence[str]]) -> list[int]:
    widths = [max(map(len, column)) for column in columns]
    excess = len(INDENT) + sum(widths) + 2 * (len(widths) - 1) - WIDTH
    for index in reversed(range(len(widths))):
        longest = max((len(word) for cell in columns[index] for word in cell.split()), default=0)
        narrow = max(longest, LEAST if index == len(widths) - 1 else 0)
        given = max(0, min(excess, widths[index] - narrow))
        widths[index] -= given
        excess -= given
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], *, right: Collection[int]) -> Iterator[str]:
    wraps = [
        textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False) if width else []
        for cell, width in zip(cells, widths, strict=True)
    ]
    for parts in zip_longest(*wraps, fillvalue=""):
        padded = (
            part.rjust(width) if column in right else part.ljust(width)
            for column, (part, width) in enumerate(zip(parts, widths, strict=True))
        )
        yield (INDENT + "  ".join(padded)).rstrip()


def wrapped(text: str, *, indent: str = "", hanging: str | None = None) -> list[str]:
    """``text`` as lines, those after the first behind ``hanging`` (``indent`` where that is not given)."""
    later = indent if hanging is None else hanging
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def clip(text: str, width: int) -> str:
    """``text``, cut to ``width`` columns with a mark where it is longer."""
    return text if len(text) <= width else text[: width - 1] + "…"


def printable(text: str, *, unicode: bool) -> str:
    """``text`` for a terminal: nothing that a file's author could steer it with, and plain ASCII where the reader has
    no UTF-8."""
    shown = "".join(each if each.isprintable() or each == "\n" else "?" for each in text)
    return shown if unicode else shown.translate(_ASCII).encode("ascii", "replace").decode("ascii")
