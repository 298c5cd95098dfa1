"""Renders text for a terminal: lines of limited width, aligned columns, colours."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from clouds.base.findings import Severity
from longhaul.terminal.printable import one_line

WIDTH = 100
"""Maximum width of text, columns."""

LEAST = 16
"""Minimum width of the last column of a wrapped table, unless its content is narrower."""

INDENT = "  "

MANY = 40
"""Number of machines above which a list shows only the unhealthy machines."""

COLOURS: Mapping[Severity, str] = {
    Severity.OK: "\033[32m",
    Severity.UNKNOWN: "\033[33m",
    Severity.WARNING: "\033[33m",
    Severity.PROBLEM: "\033[31m",
}
"""Escape sequences that make a terminal write in green, yellow or red."""
PLAIN = "\033[0m"


@dataclass(frozen=True)
class Marked:
    """A table cell in the colour of its severity."""

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
    """Return aligned columns under ``head``, which may be empty. Columns whose numbers are in ``right`` are
    right-aligned. When the table is wider than ``width``, cells are wrapped between words, from the last column to the
    first; with ``None``, no cell is wrapped. Each cell becomes one line without control characters. With ``colour``,
    marked cells are coloured."""
    lines = [tuple(map(_safe, row)) for row in [*([head] if head else []), *rows]]
    columns = [[str(cell) for cell in column] for column in zip(*lines, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    if width is not None:
        widths = _narrowed(columns, widths, excess=len(indent) + sum(widths) + 2 * (len(widths) - 1) - width)
    return [
        (indent + "  ".join(cells)).rstrip()
        for line in lines
        for cells in _padded(line, widths, right=right, wrap=width is not None, colour=colour)
    ]


def _safe(cell: Cell) -> Cell:
    return replace(cell, text=one_line(cell.text)) if isinstance(cell, Marked) else one_line(cell)


def _narrowed(columns: Sequence[Sequence[str]], widths: Sequence[int], *, excess: int) -> list[int]:
    """Return the widths reduced by ``excess`` in total, beginning with the last column."""
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
    """Yield the cells of a row, padded to the widths of their columns. A wrapped row gives several lines."""
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
    """Return whether stdout is a terminal and ``NO_COLOR`` is not set (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def painted(text: str, severity: Severity) -> str:
    """Return ``text`` in the colour of the severity."""
    return f"{COLOURS[severity]}{text}{PLAIN}"


def wrapped(text: str, *, indent: str = "", hanging: str | None = None, hyphens: bool = False) -> list[str]:
    """Return ``text`` as lines. Lines after the first begin with ``hanging``, or with ``indent`` when that is not
    given. With ``hyphens``, a line may end with a hyphen."""
    return textwrap.wrap(
        one_line(text),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=False,
        break_on_hyphens=hyphens,
    )


def seen_from(folder: Path, path: Path) -> Path:
    """Return ``path`` relative to ``folder`` when it is inside, else ``path`` unchanged."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def clip(text: str, width: int) -> str:
    """Return ``text``, shortened to ``width`` columns with an ellipsis when it is longer."""
    return text if len(text) <= width else text[: width - 1] + "…"
