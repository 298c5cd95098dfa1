"""A pool in memory, and rolls of it without any real waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from longhaul.roll.events import Event, RollEventKind
from longhaul.roll.loop import Roll, RollSettings
from tests.support.pool import POOL, FakeCluster, FakeGroup


class Pool:
    """A pool, and rolls of it."""

    def __init__(self, *, in_place: bool = False) -> None:
        self.cluster = FakeCluster()
        self.cloud = FakeGroup(cluster=self.cluster, in_place=in_place)
        self.events: list[Event] = []
        self.meanwhile: dict[float, Callable[[], Any]] = {}
        """Actions by the time when they happen, in seconds."""

    def roll(self, **changes: Any) -> Roll:
        settings: dict[str, Any] = {
            "at_once": lambda total: 1,
            "deadline": None,
            "within_s": 600.0,
            "budget": 0,
            "pool_label": f"{POOL}=cpu",
            "taints": frozenset(),
            **changes,
        }
        return Roll(
            cloud=self.cloud,
            api=self.cluster,
            settings=RollSettings(**settings),
            tell=self.events.append,
            clock=lambda: self.cluster.seconds,
            wait=self._wait,
        )

    def _wait(self, seconds: float) -> None:
        assert self.cluster.seconds < 10_000, "it goes on for ever"
        self.cloud.wait(seconds)
        for at in [at for at in self.meanwhile if at <= self.cluster.seconds]:
            self.meanwhile.pop(at)()

    def said(self, kind: RollEventKind) -> list[str]:
        return [event.node for event in self.events if event.kind is kind]

    def first(self, kind: RollEventKind) -> str:
        return next(event.detail for event in self.events if event.kind is kind)

    def all_new(self) -> bool:
        ready = all(machine.node in self.cluster.nodes for machine in self.cloud.machines.values())
        return ready and all(machine.current for machine in self.cloud.machines.values())

    def notes(self) -> dict[str, dict[str, str]]:
        found = {name: node["metadata"].get("annotations", {}) for name, node in self.cluster.nodes.items()}
        return {name: notes for name, notes in found.items() if notes}
