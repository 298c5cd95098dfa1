"""The steps of a run: look, make, check, and take down whatever happens."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from clouds.base.findings import Severity
from longhaul.acceptance.check import AcceptanceCheck, NotSoError, perform, perform_all
from longhaul.acceptance.outcome import AcceptanceReport, Stay, StepOutcome, StepResult
from longhaul.acceptance.steps import Runs, require, run_or_fail
from longhaul.acceptance.time_limit import Clock, Deadline
from longhaul.terminal.exits import CommandError, Exit

DOWN_SHARE = 1 / 3
"""Share of the whole time that is kept for taking down."""
ENDING_S = 600.0
"""Seconds beyond its share that taking down may use, so that it is not stopped half-way."""

Checking = AbstractContextManager[tuple[AcceptanceCheck, ...]]
"""Context that yields the checks. Objects that the checks share exist inside the context."""


@dataclass(kw_only=True)
class Runner:
    """One run. Times are measured by ``clock``, in seconds."""

    env: str
    most_s: float
    budget: str
    commands: Runs
    log: str
    """Path of the log of what the commands write."""
    count_resources: Callable[[], dict[str, int]]
    """Returns the number of resources by stack, without empty stacks."""
    left: Callable[[], list[str]]
    """Returns the environment's resources that the clouds still list."""
    tell: Callable[[str], None]
    """Shows one line to people."""
    clock: Clock = time.monotonic
    _steps: list[StepOutcome] = field(default_factory=list)
    _checks: list[StepOutcome] = field(default_factory=list)
    _interrupted: bool = False
    _stays: Stay = Stay.NOTHING
    _since: float = 0.0

    def make_and_destroy(self, checks: Callable[[Deadline], Checking]) -> AcceptanceReport:
        """Make, check and take down the environment. Raise ``CommandError`` when it exists already."""
        begun = self._begin()
        if counts := self.count_resources():
            leftovers = ", ".join(f"{count} resources of {stack}" for stack, count in counts.items())
            raise CommandError(
                f"{self.env} exists already ({leftovers}), and this would take it down: --reuse checks it as it is. "
                f"If a killed run left it, `longhaul destroy --env {self.env} --remove` takes it down",
                code=Exit.REFUSED,
            )
        self._tell_log()
        self._until_interrupted(lambda: self._make(self._limit(self.most_s * (1 - DOWN_SHARE)), checks))
        return self._report(begun)

    def reuse(self, checks: Callable[[Deadline], Checking]) -> AcceptanceReport:
        """Only run the checks, on an existing environment, and leave it in place. Raise ``CommandError`` when it does
        not exist."""
        begun, self._stays = self._begin(), Stay.ALL
        if not self.count_resources():
            raise CommandError(
                f"{self.env} does not exist: the engine has no resource of it, so nothing can be checked. "
                f"`longhaul up --env {self.env}` makes it; without --reuse it is made, checked and taken down. If it "
                "was made with another backend, choose that backend (PULUMI_BACKEND_URL, or `pulumi login`)",
                code=Exit.UNREACHABLE,
            )
        self._tell_log()
        self._until_interrupted(lambda: self._check(self._limit(self.most_s), checks))
        return self._report(begun)

    def _until_interrupted(self, do: Callable[[], object]) -> None:
        try:
            do()
        except KeyboardInterrupt:
            self._note_interrupt()

    def _limit(self, seconds: float) -> Deadline:
        return Deadline(seconds, clock=self.clock, tell=self.tell)

    def _looked(self, limit: Deadline) -> bool:
        """Return whether the environment can be made (``doctor``) and may be made (``plan``)."""
        return self._step(
            "doctor", "everything that it needs exists and is allowed", lambda: _doctor(self.commands, limit)
        ) and self._step("plan", "no reason refuses it", lambda: _plan(self.commands, limit))

    def _make(self, limit: Deadline, checks: Callable[[Deadline], Checking]) -> None:
        """Make and check the environment if it may be made. Once ``up`` has begun, always take down."""
        if not self._looked(limit):
            return
        self._stays = Stay.PART
        try:
            if self._step("up", "`longhaul up` makes it", lambda: _up(self.commands, limit)):
                self._check(limit, checks)
        except KeyboardInterrupt:
            self._note_interrupt()
        finally:
            self._take_down()

    def _check(self, limit: Deadline, checks: Callable[[Deadline], Checking]) -> None:
        def keep(outcome: StepOutcome) -> None:
            self._checks.append(outcome)
            self.tell(str(outcome))

        with checks(limit) as chosen:
            perform_all(chosen, limit=limit, begins=lambda check: self.tell(f"{check.name}: begins"), tell=keep)

    def _take_down(self) -> None:
        """Take down and check that nothing is left."""
        self._stays = Stay.PART
        limit = self._limit(self.most_s * DOWN_SHARE + ENDING_S)
        gone = self._step("destroy", "`longhaul destroy` takes it down", lambda: self._destroy(limit))
        if (
            self._step("nothing left", "neither the engine nor a cloud lists anything of it", self._nothing_left)
            and gone
        ):
            self._stays = Stay.NONE
        else:
            self.tell(str(self._stays))

    def _destroy(self, limit: Deadline) -> str:
        if self.commands.run("destroy", "--yes", "--remove", limit=limit).code != Exit.OK:
            run_or_fail(self.commands, "destroy", "--yes", "--remove", limit=limit)
            return "`longhaul destroy` succeeded the second time"
        return "`longhaul destroy` succeeded"

    def _nothing_left(self) -> str:
        if counts := self.count_resources():
            raise NotSoError(
                ", ".join(f"the engine still has {count} resources of {stack}" for stack, count in counts.items())
            )
        if found_there := self.left():
            raise NotSoError(f"the clouds still list {', '.join(found_there)}")
        return "the engine has no resource of it, the clouds list none by its groups and tags"

    def _step(self, name: str, shows: str, run: Callable[[], str]) -> bool:
        self.tell(f"{name}: begins")
        outcome = perform(AcceptanceCheck(name=name, shows=shows, run=run), clock=self.clock)
        self._steps.append(outcome)
        self.tell(str(outcome))
        if outcome.result is StepResult.FAILED and (tail := self.commands.tail()):
            self.tell(f"the end of the output:\n{tail}")
        return outcome.result is not StepResult.FAILED

    def _note_interrupt(self) -> None:
        self._interrupted = True
        self.tell("interrupted")

    def _tell_log(self) -> None:
        self.tell(f"the steps' output is in {self.log}")

    def _begin(self) -> datetime:
        self._since = self.clock()
        return datetime.now(UTC)

    def _report(self, begun: datetime) -> AcceptanceReport:
        return AcceptanceReport(
            environment=self.env,
            stays=self._stays,
            begun=begun,
            seconds=self.clock() - self._since,
            budget=self.budget,
            log=self.log,
            steps=tuple(self._steps),
            checks=tuple(self._checks),
            interrupted=self._interrupted,
        )


def _doctor(commands: Runs, limit: Deadline) -> str:
    """Run ``doctor``. Raise ``NotSoError`` with every problem that ``doctor`` reports, since the exit code alone does
    not name the problems."""
    done = commands.run("doctor", "--json", limit=limit)
    report = json.loads(done.stdout) if done.stdout else {"findings": []}
    problems = [
        f"{finding['what']} ({finding['do']})" for finding in report["findings"] if finding["level"] == Severity.PROBLEM
    ]
    if problems:
        raise NotSoError("; ".join(dict.fromkeys(problems)))
    require(done, "doctor")
    return ", ".join(f"{count} {level}" for level, count in report["counts"].items())


def _plan(commands: Runs, limit: Deadline) -> str:
    return f"verdict: {json.loads(run_or_fail(commands, 'plan', '--format', 'json', limit=limit).stdout)['verdict']}"


def _up(commands: Runs, limit: Deadline) -> str:
    run_or_fail(commands, "up", "--yes", limit=limit)
    return "`longhaul up` succeeded"
