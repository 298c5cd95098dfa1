"""Folds repeats of one error: a hundred hosts that lack the same key are one thing to mend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.model.errors import Problem

REPEATS = 3
"""Fewest problems that are folded into one."""
NAMED = 5
"""Most places that a folded problem names."""


def folded(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield the text of each problem. Those that say the same of the same key in other places of a file are one, at the
    place of the first."""
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
    named = [one.key if one.line is None else f"{one.key} (line {one.line})" for one in problems[:NAMED]]
    return ", ".join(named) + (", …" if len(problems) > NAMED else "")
