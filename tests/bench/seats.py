"""A scheduler's choice of nodes by their GPUs: the fullest node that has room, so that whole nodes stay free."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

GPUS = 8
"""GPUs of a node."""


@dataclass
class Seats:
    """Free GPUs of nodes, and the pods that wait for some."""

    _free: dict[int, dict[str, None]] = field(default_factory=lambda: {count: {} for count in range(GPUS + 1)})
    """Nodes by their free GPUs, in the order in which they came to have them."""
    _waiting: dict[int, deque[str]] = field(default_factory=lambda: {count: deque() for count in range(1, GPUS + 1)})
    taken: Counter[str] = field(default_factory=Counter)
    """Number of pods by node."""

    def pod(self, name: str, gpus: int) -> Iterator[tuple[str, str]]:
        """Take a pod that waits. Yield pods with their nodes."""
        self._waiting[gpus].append(name)
        yield from self._placed()

    def node(self, name: str) -> Iterator[tuple[str, str]]:
        """Take a node that is empty. Yield pods with their nodes."""
        self._free[GPUS][name] = None
        yield from self._placed()

    def _placed(self) -> Iterator[tuple[str, str]]:
        """Place what has room, the largest first."""
        for gpus in range(GPUS, 0, -1):
            pods = self._waiting[gpus]
            while pods and (found := self._fullest(gpus)):
                free, node = found
                del self._free[free][node]
                self._free[free - gpus][node] = None
                self.taken[node] += 1
                yield pods.popleft(), node

    def _fullest(self, gpus: int) -> tuple[int, str] | None:
        """Return the free GPUs and the name of the node with the fewest free GPUs that are enough."""
        for free in range(gpus, GPUS + 1):
            if self._free[free]:
                return free, next(iter(self._free[free]))
        return None
