"""One report of all faults of an environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clouds.base.inputs import MASKED, PRIVATE_KEY

REPEATS = 3
"""Fewest problems that are folded into one."""
NAMED = 5
"""Largest number of places that a folded problem names."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One fault. Its texts quote the file, but no private key, and no control character that a terminal would obey."""

    file: str
    line: int | None = None
    """Line number, counted from 1; ``None`` when the value is not in a file, or its line is unknown."""
    key: str
    """Dotted path of the value below ``longhaul:environment``, such as ``pools.gpu.site``; in a hosts file, from its
    top. Empty for the whole file."""
    wrong: str
    write: str
    """Value to write instead, or advice."""

    def __post_init__(self) -> None:
        for name in ("file", "key", "wrong", "write"):
            kept = "\n" if name == "write" else ""
            object.__setattr__(self, name, _shown(getattr(self, name), kept=kept))

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        what = f"{self.key}: {self.wrong}" if self.key else self.wrong
        return f"{place}: {what}\n    write: {self.write}"


def _shown(text: str, *, kept: str) -> str:
    """Return ``text`` without private keys, and with ``?`` in place of control characters that are not ``kept``."""
    masked = PRIVATE_KEY.sub(MASKED, text)
    return masked if masked.isprintable() else "".join(e if e.isprintable() or e in kept else "?" for e in masked)


class ConfigurationError(Exception):
    """Raised when the environment cannot be used. It has every problem, not only the first, and the cautions."""

    def __init__(self, problems: Iterable[Problem], *, warnings: Iterable[Problem] = ()) -> None:
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        count = len(self.problems)
        head = f"{count} problem{'s' if count != 1 else ''} in the environment:"
        lines = [f"  {text}" for text in folded(self.problems)]
        doubts = [f"  warning: {text}" for text in folded(self.warnings)]
        super().__init__("\n".join([head, *lines, *doubts]))


def folded(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield the text of each problem. Problems with the same text and key at several places of a file are folded into
    one, at the first place."""
    alike: dict[tuple[str, ...], list[Problem]] = {}
    for problem in problems:
        key = problem.key.rpartition(".")[2]
        alike.setdefault((problem.file, key, problem.wrong, problem.write), []).append(problem)
    for first, *others in alike.values():
        if 1 + len(others) < REPEATS:
            yield from map(str, (first, *others))
        else:
            yield f"{first}\n    the same in {len(others)} more places: {_places(others)}"


def _places(problems: list[Problem]) -> str:
    named = [
        problem.key if problem.line is None else f"{problem.key} (line {problem.line})" for problem in problems[:NAMED]
    ]
    return ", ".join(named) + (", …" if len(problems) > NAMED else "")
