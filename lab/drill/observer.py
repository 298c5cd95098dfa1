"""Observers: what a drill looks at beside the verifier, from before the load until all is healthy again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from lab.drill.environment import DrillEnvironment


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A time that was measured."""

    what: str
    seconds: float
    goal_s: float
    """More is marked, and no failure."""

    @property
    def slow(self) -> bool:
        """Return whether it is beyond its goal."""
        return self.seconds > self.goal_s


class Observer:
    """Observes nothing. Others say more."""

    def figures(self, ended: float) -> tuple[Figure, ...]:
        """Return what was measured. ``ended``: the fault's end, seconds of the monotonic clock."""
        del ended
        return ()

    def movable(self, pods: Sequence[Mapping[str, Any]]) -> frozenset[str]:
        """Return the names of the pods that the fault may move by what they tolerate; all others must run on."""
        del pods
        return frozenset()


Observing = Callable[[DrillEnvironment], AbstractContextManager[Observer]]
"""Begins an observation; what it needs is there in the block, and is removed after it."""


@contextmanager
def nothing(_environment: DrillEnvironment) -> Iterator[Observer]:
    """Observe nothing."""
    yield Observer()
