"""One report for everything that is wrong with an environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Location = tuple[str | int, ...]
"""Where a value is in a document: keys and list indices from the top."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something wrong at a place that is not yet tied to a file."""

    at: Location
    """Below ``longhaul:environment``; ``hosts`` and what is below it is in the hosts file."""
    wrong: str
    write: str
    basis: tuple[Location, ...] = ()
    """What else this was concluded from: where a part of it is broken itself, the conclusion is worth nothing."""

    def holds(self, broken: frozenset[Location]) -> bool:
        """Whether everything it rests on was readable."""
        return not any(place[: len(part)] == part for place in (self.at, *self.basis) for part in broken)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong."""

    file: str
    line: int | None = None
    """Counted from 1; ``None`` when the value is in no file, or its place there is not known."""
    key: str
    """Dotted path of the value below ``longhaul:environment``, such as ``pools.gpu.site``; in a hosts file from its
    top. Empty when the whole file is meant."""
    wrong: str
    write: str
    """What to write instead."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        what = f"{self.key}: {self.wrong}" if self.key else self.wrong
        return f"{place}: {what}\n    write: {self.write}"


class ConfigurationError(Exception):
    """The environment cannot be used; carries every problem found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = f"{count} problem{'s' if count != 1 else ''} in the environment:"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]))
