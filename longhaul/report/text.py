"""Text for a terminal: lines that keep to a width, aligned columns, counts, colours."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from clouds.base.findings import Severity

WIDTH = 100
"""Columns that text keeps to."""

LEAST = 16
"""Columns that a wrapped table's last column keeps, if it has them."""

INDENT = "  "

MANY = 40
"""With more machines than these, a list has only those that are not well."""

COLOURS: Mapping[Severity, str] = {
    Severity.OK: "\033[32m",
    Severity.UNKNOWN: "\033[33m",
    Severity.WARNING: "\033[33m",
    Severity.PROBLEM: "\033[31m",
}
"""What makes a terminal write green, yellow or red."""
PLAIN = "\033[0m"

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


@dataclass(frozen=True)
class Marked:
    """A cell that has the colour of how grave it is."""

    text: str
    severity: Severity

    def __str__(self) -> str:
        return self.text


Cell = str | Marked


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Collection[int] = (),
    indent: str = INDENT,
    width: int | None = WIDTH,
    colour: bool = False,
) -> list[str]:
    """Aligned columns under ``head``, which may be empty; those numbered in ``right`` end alike. Where they are wider
    together than ``width``, cells are wrapped between words, from the last column to the first; with ``None`` none is.
    With ``colour``, marked cells have theirs."""
    lines: list[tuple[Cell, ...]] = [*([tuple(head)] if head else []), *map(tuple, rows)]
    columns = [[str(cell) for cell in column] for column in zip(*lines, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    if width is not None:
        widths = _narrowed(columns, widths, excess=len(indent) + sum(widths) + 2 * (len(widths) - 1) - width)
    return [
        (indent + "  ".join(cells)).rstrip()
        for line in lines
        for cells in _padded(line, widths, right=right, wrap=width is not None, colour=colour)
    ]


def _narrowed(columns: Sequence[Sequence[str]], widths: Sequence[int], *, excess: int) -> list[int]:
    """Widths without what is too much, taken from the columns from the last to the first."""
    narrowed = list(widths)
    for index in reversed(range(len(widths))):
        longest = max((len(word) for cell in columns[index] for word in cell.split()), default=0)
        least = max(longest, LEAST if index == len(widths) - 1 else 0)
        given = max(0, min(excess, narrowed[index] - least))
        narrowed[index] -= given
        excess -= given
    return narrowed


def _padded(
    row: Sequence[Cell], widths: Sequence[int], *, right: Collection[int], wrap: bool, colour: bool
) -> Iterator[list[str]]:
    """The cells of a row as wide as their columns; of one that is wrapped, line by line."""
    parts = [
        textwrap.wrap(str(cell), width, break_long_words=False, break_on_hyphens=False)
        if wrap and width
        else [str(cell)]
        for cell, width in zip(row, widths, strict=True)
    ]
    for line in zip_longest(*parts, fillvalue=""):
        padded = [
            part.rjust(width) if column in right else part.ljust(width)
            for column, (part, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield [
            painted(text, cell.severity) if colour and isinstance(cell, Marked) else text
            for text, cell in zip(padded, row, strict=True)
        ]


def wants_colour() -> bool:
    """Whether stdout is a terminal, and nobody said that it is to be plain (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def painted(text: str, severity: Severity) -> str:
    """``text`` in the colour of how grave it is."""
    return f"{COLOURS[severity]}{text}{PLAIN}"


def wrapped(text: str, *, indent: str = "", hanging: str | None = None, hyphens: bool = False) -> list[str]:
    """``text`` as lines, those after the first behind ``hanging`` (``indent`` where that is not given); with
    ``hyphens`` a line may end with one."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,
        break_on_hyphens=hyphens,
    )


def counted(number: int, noun: str, *, none: str = "0") -> str:
    """``1 node``, ``2 nodes``, ``7,500 nodes``; ``none`` is what stands for 0."""
    return f"{f'{number:,}' if number else none} {noun}{'' if number == 1 else 's'}"


def names(where: Iterable[str], *, most: int = 3) -> str:
    """A few names, and how many more there are."""
    listed = list(where)
    shown, rest = listed[:most], len(listed) - most
    return ", ".join(shown) + (f" and {rest} more" if rest > 0 else "")


def seen_from(folder: Path, path: Path) -> Path:
    """``path`` from ``folder`` on, where it lies below."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def clip(text: str, width: int) -> str:
    """``text``, cut to ``width`` columns with a mark where it is longer."""
    return text if len(text) <= width else text[: width - 1] + "…"


def printable(text: str, *, unicode: bool) -> str:
    """``text`` for a terminal: nothing that a file's author could steer it with, and plain ASCII where the reader has
    no UTF-8."""
    shown = "".join(each if each.isprintable() or each == "\n" else "?" for each in text)
    return shown if unicode else shown.translate(_ASCII).encode("ascii", "replace").decode("ascii")
