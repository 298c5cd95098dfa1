"""Stand-ins for acceptance: commands with given exits, and a clock that only waiting moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from longhaul.acceptance.check import AcceptanceCheck
from longhaul.acceptance.runner import Checking, Runner
from longhaul.acceptance.steps import FinishedCommand
from longhaul.acceptance.time_limit import Deadline

SAYS = {
    "doctor": json.dumps({"counts": {"problem": 0, "ok": 13}, "findings": []}),
    "plan": json.dumps({"verdict": "safe"}),
    "up": "",
    "destroy": "",
}
"""Output of each command that a run starts; it starts no other."""


@dataclass(kw_only=True)
class Time:
    """A clock, in seconds."""

    now: float = 0.0

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@dataclass(kw_only=True)
class FakeCommands:
    """Records the commands that are run. Each ends as ``ends`` says, the first time by its first entry and so on; then
    successfully."""

    ends: dict[str, list[int | type[BaseException] | Callable[[], None]]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def run(self, verb: str, *words: str, limit: Deadline) -> FinishedCommand:
        self.ran.append(" ".join((verb, *words)))
        self.limits.append(limit.remaining_s())
        end = self.ends.get(verb, [0])
        how = end.pop(0) if len(end) > 0 and verb in self.ends else 0
        if isinstance(how, type):
            raise how
        if callable(how):
            how()
            return FinishedCommand(code=0, stdout=SAYS[verb])
        return FinishedCommand(code=how, stdout=SAYS[verb] if how == 0 else "")

    def tail(self) -> str:
        return "error: the last line"

    def verbs(self) -> list[str]:
        return [command.split()[0] for command in self.ran]


@dataclass(kw_only=True)
class World:
    """An acceptance run and its surroundings."""

    commands: FakeCommands = field(default_factory=FakeCommands)
    time: Time = field(default_factory=Time)
    held: list[dict[str, int]] = field(default_factory=list)
    """Contents of the engine's stacks, one for each question; after the last, nothing."""
    left: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def runner(self, **other: Any) -> Runner:
        return Runner(
            env="dev",
            most_s=3600,
            budget="a few machines",
            commands=self.commands,
            log="/state/dev.acceptance.log",
            count_resources=lambda: self.held.pop(0) if self.held else {},
            left=lambda: self.left,
            tell=self.told.append,
            clock=self.time.clock,
            **other,
        )


def checking(*runs: Callable[[], str], limits: list[float] | None = None) -> Callable[[Deadline], Checking]:
    """Return checks that run these functions."""

    @contextmanager
    def chosen(limit: Deadline) -> Iterator[tuple[AcceptanceCheck, ...]]:
        if limits is not None:
            limits.append(limit.remaining_s())
        yield tuple(
            AcceptanceCheck(name=f"check {index}", shows="that it is so", run=run) for index, run in enumerate(runs)
        )

    return chosen
