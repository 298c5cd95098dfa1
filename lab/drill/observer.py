"""Observers: they watch further properties beside the verifier, from before the load until all is healthy again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from lab.drill.environment import DrillEnvironment


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A measured time."""

    what: str
    seconds: float
    goal_s: float
    """Goal in seconds; a longer time is marked, but is not a failure."""

    @property
    def slow(self) -> bool:
        """Return whether the time exceeds its goal."""
        return self.seconds > self.goal_s


class Observer:
    """Base of observers. It observes nothing."""

    def figures(self, ended: float) -> tuple[Figure, ...]:
        """Return the measured figures. ``ended``: the fault's end, seconds of the monotonic clock."""
        del ended
        return ()

    def movable(self, pods: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """Return the names of the pods whose tolerations allow the fault to move them; all others must continue to
        run."""
        del pods
        return frozenset()


Observing = Callable[[DrillEnvironment], AbstractContextManager[Observer]]
"""Begins an observation. The observation's objects exist inside the block, and are removed after the block."""


@contextmanager
def nothing(_environment: DrillEnvironment) -> Iterator[Observer]:
    """Observe nothing."""
    yield Observer()
