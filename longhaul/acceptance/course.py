"""The course of a run: look, make, check, and take down whatever happens; a run that was killed is finished by taking
down."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from longhaul.acceptance.check import Check, NotSoError, perform, perform_all
from longhaul.acceptance.limit import Clock, Limit
from longhaul.acceptance.outcome import Outcome, Result
from longhaul.acceptance.report import Report
from longhaul.acceptance.steps import Runs, must
from longhaul.engine.runs import Records, new_run
from longhaul.exits import CommandError, Exit

DOWN_SHARE = 1 / 3
"""Part of the whole time that is kept for taking down."""
ENDING_S = 600.0
"""How long it may take beyond that, seconds: what is half-way down is not left so for a declared time."""
KILLED = "A run before this one was killed. What it made is what was taken down; nothing was checked: run it again."

Checking = AbstractContextManager[tuple[Check, ...]]
"""The checks, and what they share as long as they are made."""


@dataclass(kw_only=True)
class Course:
    """One run. Times are by ``clock``, seconds."""

    env: str
    most_s: float
    terms: str
    commands: Runs
    records: Records
    """Of a run that has made something, or was about to."""
    held: Callable[[], dict[str, int]]
    """Resources by the stacks that hold any."""
    half_made: Callable[[], bool]
    """Whether a killed run was making something that the engine does not know."""
    left: Callable[[], list[str]]
    """What the clouds list of it."""
    tell: Callable[[str], None]
    """One line for people."""
    clock: Clock = time.monotonic
    _steps: list[Outcome] = field(default_factory=list)
    _checks: list[Outcome] = field(default_factory=list)
    _interrupted: bool = False
    _since: float = 0.0

    def make_and_destroy(self, checks: Callable[[Limit], Checking]) -> Report:
        """All of it. ``CommandError`` when the environment is there already, or another run is at work on it."""
        begun = self._begin()
        run = self.records.read()
        if run is not None:
            if living := run.living():
                raise CommandError(
                    f"an acceptance of {self.env} is already at work: process {living[0].pid}. Wait for it, or stop it "
                    f"with `kill -INT {living[0].pid}`"
                )
            self.tell("the last run was killed: taking down what it made")
            self._take_down()
            return self._report(begun, made=True, note=KILLED)
        if found := self.held():
            said = ", ".join(f"{count} resources of {stack}" for stack, count in found.items())
            raise CommandError(
                f"{self.env} is there already ({said}), and this would take it down: --reuse looks at it as it is",
                code=Exit.REFUSED,
            )
        try:
            up_to = Limit(self.most_s * (1 - DOWN_SHARE), clock=self.clock)
            if self._looked(up_to):
                self._made(up_to, checks)
        except KeyboardInterrupt:
            self._note_interrupt()
        return self._report(begun, made=True)

    def reuse(self, checks: Callable[[Limit], Checking]) -> Report:
        """The checks alone, of an environment that is there, and stays."""
        begun = self._begin()
        try:
            self._check(Limit(self.most_s, clock=self.clock), checks)
        except KeyboardInterrupt:
            self._note_interrupt()
        return self._report(begun, made=False)

    def _looked(self, limit: Limit) -> bool:
        """Whether the environment can be made, and may be."""
        return self._step(
            "doctor", "all that it needs is there and allowed", lambda: _doctor(self.commands, limit)
        ) and self._step("plan", "no reason refuses it", lambda: _plan(self.commands, limit))

    def _made(self, limit: Limit, checks: Callable[[Limit], Checking]) -> None:
        """From here on there may be something to take down, whatever happens."""
        self.records.write(new_run("acceptance"))
        try:
            if self._step("up", "`longhaul up` makes it", lambda: _up(self.commands, limit)):
                self._check(limit, checks)
        except KeyboardInterrupt:
            self._note_interrupt()
        finally:
            self._take_down()

    def _check(self, limit: Limit, checks: Callable[[Limit], Checking]) -> None:
        def keep(outcome: Outcome) -> None:
            self._checks.append(outcome)
            self.tell(str(outcome))

        with checks(limit) as chosen:
            perform_all(chosen, limit=limit, tell=keep)

    def _take_down(self) -> None:
        """The record goes only once nothing is left."""
        limit = Limit(self.most_s * DOWN_SHARE + ENDING_S, clock=self.clock)
        gone = self._step("destroy", "`longhaul destroy` takes it down", lambda: self._destroy(limit))
        if (
            self._step("nothing left", "neither the engine nor a cloud lists anything of it", self._nothing_left)
            and gone
        ):
            self.records.clear()
        else:
            self.tell("it is not all down: run the same again, which goes on with taking down")

    def _destroy(self, limit: Limit) -> str:
        done = self.commands.run("destroy", "--yes", "--remove", limit=limit)
        if done.code == Exit.FAILED and self.half_made():
            # The engine does not know what a run was making that was killed: an `up` adopts it.
            self.tell("something was left half-made: `longhaul up` adopts it, then it goes")
            must(self.commands, "up", "--yes", "--only", "infrastructure", limit=limit)
        if done.code != Exit.OK:
            must(self.commands, "destroy", "--yes", "--remove", limit=limit)
            return "`longhaul destroy` ended well the second time"
        return "`longhaul destroy` ended well"

    def _nothing_left(self) -> str:
        if found := self.held():
            raise NotSoError(
                ", ".join(f"the engine still has {count} resources of {stack}" for stack, count in found.items())
            )
        if found_there := self.left():
            raise NotSoError(f"the clouds still list {', '.join(found_there)}")
        return "the engine has no resource of it, the clouds list none by its groups and tags"

    def _step(self, name: str, shows: str, run: Callable[[], str]) -> bool:
        self.tell(f"{name}: begins")
        outcome = perform(Check(name=name, shows=shows, run=run), clock=self.clock)
        self._steps.append(outcome)
        self.tell(str(outcome))
        if outcome.result is Result.FAILED and (tail := self.commands.tail()):
            self.tell(f"the end of what was said:\n{tail}")
        return outcome.result is not Result.FAILED

    def _note_interrupt(self) -> None:
        self._interrupted = True
        self.tell("interrupted")

    def _begin(self) -> datetime:
        self._since = self.clock()
        return datetime.now(UTC)

    def _report(self, begun: datetime, *, made: bool, note: str = "") -> Report:
        return Report(
            environment=self.env,
            made=made,
            begun=begun,
            seconds=self.clock() - self._since,
            terms=self.terms,
            steps=tuple(self._steps),
            checks=tuple(self._checks),
            interrupted=self._interrupted,
            note=note,
        )


def _doctor(commands: Runs, limit: Limit) -> str:
    counts = json.loads(must(commands, "doctor", "--json", limit=limit).stdout)["counts"]
    return ", ".join(f"{count} {level}" for level, count in counts.items())


def _plan(commands: Runs, limit: Limit) -> str:
    return f"verdict: {json.loads(must(commands, 'plan', '--format', 'json', limit=limit).stdout)['verdict']}"


def _up(commands: Runs, limit: Limit) -> str:
    must(commands, "up", "--yes", limit=limit)
    return "`longhaul up` ended well"
