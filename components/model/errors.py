"""One report for everything that is wrong with an environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from components.model.folding import folded


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong."""

    file: str
    line: int | None = None
    """Line number, counted from 1; ``None`` when the value is in no file, or its line is not known."""
    key: str
    """Dotted path of the value below ``longhaul:environment``, such as ``pools.gpu.site``; in a hosts file, from its
    top. Empty when the whole file is meant."""
    wrong: str
    write: str
    """Value to write instead, or advice."""

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
        super().__init__("\n".join([head, *(f"  {text}" for text in folded(self.problems))]))
