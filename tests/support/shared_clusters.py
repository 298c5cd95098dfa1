"""Clusters that the tests of several files share: an API server takes three seconds of processor to start, and the
objects of an environment take many more."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SHARERS = {
    "queue managers": ("QueueManagers", "TeamCluster"),
    "an environment's objects": ("applied: ApiServer",),
    "guarded API server": ("guarded: ApiServer",),
    "autoscaler's clouds": ("acting_cluster import",),
    "scheduled clusters": ("scheduled: ApiServer",),
}
"""Words by which a file shows that its tests share a cluster, by the cluster's name. The ports of Kueue and JobSet are
fixed: tests that start them would wait for each other."""


@cache
def sharers(path: Path) -> str:
    """Return the name of the cluster that a file's tests share; empty for most files."""
    text = path.read_text(encoding="utf-8")
    return next((name for name, words in SHARERS.items() if any(word in text for word in words)), "")


class SharedClusters:
    """The clusters that run: each begins when the first test needs it."""

    def __init__(self) -> None:
        self._running: dict[str, object] = {}
        self._ends = ExitStack()

    def take(self, name: str, cluster: AbstractContextManager[T]) -> T:
        """Return the cluster that has this name, which is entered unless it runs."""
        assert name in SHARERS, name
        if name not in self._running:
            self._running[name] = self._ends.enter_context(cluster)
        return self._running[name]  # type: ignore[return-value]

    def end(self) -> None:
        """End all of them: without tests they would only take processor time."""
        self._running.clear()
        self._ends.close()
