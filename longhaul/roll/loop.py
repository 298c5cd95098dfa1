"""The roll itself: look, decide, act, and repeat, until nothing is left to do.

The roll stores nothing that another run would need. Begun steps are recorded on Nodes and in the cloud, and each step
may be repeated. Only durations are counted anew by each run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from clouds.base.errors import CloudError
from clouds.base.live_groups import Life, Rolled
from contract.annotations import ROLL, ROLL_SINCE, ROLL_STAGE
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError
from contract.kubernetes.drain import annotate, cordon, drain_line, evict_all, uncordon
from contract.kubernetes.paths import NODES
from longhaul.roll.events import Event, RollEventKind, Tell
from longhaul.roll.limits import RollLimits
from longhaul.roll.next_steps import RollAction, RollPlan, RollState, RollStep, plan, why_kept, why_released
from longhaul.roll.observed import ANNOTATIONS, REBUILDING, REPLACING, ObservedMachine, View, observe

LOOK_S = 3.0
"""Shortest time between two looks at the pool, seconds."""
LOOKS_A_SECOND = 100
"""Maximum number of machines that are looked at per second: a large pool is looked at less often."""
PATIENCE_S = 900.0
"""Time without an answer from the cloud or the cluster after which a run ends, seconds. Nothing happens meanwhile, and
nothing is lost by waiting."""


class StoppedError(Exception):
    """The roll cannot go on; the message says why."""


@dataclass(frozen=True, kw_only=True)
class RollSettings:
    """Settings of a roll."""

    at_once: Callable[[int], int]
    """Returns the number of machines that may be out of service at a time, from the pool's total."""
    deadline: timedelta | None
    within_s: float
    """Time that a machine may take to become empty, and again until its successor is in service, seconds."""
    budget: int
    """Maximum number of machines that may fail before the roll stops."""
    pool_label: str
    """Label selector of the pool's Nodes."""
    taints: frozenset[tuple[str, str]]
    """Key and effect of the taints that the pool's nodes always have."""

    def limits(self, view: View) -> RollLimits:
        """Return the limits for the pool's present size."""
        total = max(view.group.wanted, len(view.machines))
        return RollLimits(at_once=max(1, self.at_once(total)), deadline=self.deadline)


@dataclass(kw_only=True)
class Roll:
    """One run."""

    cloud: Rolled
    api: Api
    settings: RollSettings
    tell: Tell
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    has_lease: Callable[[], bool] = lambda: True
    """Returns whether this run still holds the pool's lease."""
    view: View | None = None
    """The last view of the pool."""
    plan: RollPlan = field(default_factory=RollPlan)
    failed: dict[str, str] = field(default_factory=dict)
    """Machines that are given up: id to reason."""
    replaced: set[str] = field(default_factory=set)
    """Ids of machines whose replacement this run began."""
    _states: dict[str, RollState] = field(default_factory=dict)
    _begun: dict[tuple[str, str], float] = field(default_factory=dict)
    """Start times of waits, by machine and the awaited event."""
    _blocked: dict[str, str] = field(default_factory=dict)

    def look(self) -> View:
        """Look at the pool and decide. Transient failures are retried for up to :data:`PATIENCE_S`."""
        until = self.clock() + PATIENCE_S
        while True:
            try:
                return self._see()
            except (ApiError, CloudError) as error:
                if not error.passing or self.clock() > until:
                    raise
                self.tell(Event(kind=RollEventKind.RETRY, detail=f"{error}; asked again"))
                self.wait(LOOK_S)

    def look_back(self) -> None:
        """Look once more, for the report of an interrupted run. When there is no answer at once, the last view is
        kept."""
        with suppress(ApiError, CloudError):
            self._see()

    def _see(self) -> View:
        view = observe(self.cloud, self.api, pool_label=self.settings.pool_label, taints=self.settings.taints)
        # Set both at once, so that an interrupted run can still report the last view.
        self.plan, self.view = plan(view, self.settings.limits(view), failed=self.failed), view
        return view

    def run(self) -> None:
        """Continue until all is done. Raise ``StoppedError`` when another run holds the lease, when too many machines
        have failed, or when the cloud does not make missing machines. In the last two cases, first uncordon the
        machines whose replacement was not begun."""
        while True:
            view = self.look()
            if not self.has_lease():
                raise StoppedError("another run rolls the pool now: this run did not reach the API for too long")
            self._notice(view)
            self._judge(view)
            if self.plan.done:
                return
            self._take(view)
            self.wait(max(LOOK_S, self.cloud.looks_apart_s, len(view.machines) / LOOKS_A_SECOND))

    def _take(self, view: View) -> None:
        """Run the steps, until too many have failed or the lease is lost. The time that a step takes (a host's upgrade
        may take minutes) is not counted for waiting machines, since they were not looked at meanwhile."""
        began = self.clock()
        for step in self.plan.steps:
            if len(self.failed) > self.settings.budget or not self.has_lease():
                break
            if step.target.machine.id not in self.failed:
                self._try(step, view)
        spent = self.clock() - began
        self._begun = {key: since + spent for key, since in self._begun.items()}

    def _notice(self, view: View) -> None:
        """Report what has changed since the last look."""
        first = not self._states
        limits = self.settings.limits(view)
        for observed in view.machines:
            state = self.plan.states[observed.machine.id]
            if state is self._states.get(observed.machine.id):
                continue
            self._states[observed.machine.id] = state
            if state is RollState.WAITING:
                self._say(RollEventKind.WAITING, observed, f"waits for {_names(observed)}")
            elif state is RollState.RELEASED:
                self._say(RollEventKind.RELEASED, observed, why_released(observed, view, limits))
            elif state is RollState.JOINING:
                self._say(RollEventKind.JOINING, observed, "is made from the new model, but not in service yet")
            elif state is RollState.KEPT:
                self._say(RollEventKind.KEPT, observed, f"is left alone: {why_kept(observed)}")
            elif state is RollState.CURRENT and not first:
                self._say(RollEventKind.READY, observed, "is in service")

    def _judge(self, view: View) -> None:
        """Give up machines that take too long, and stop when too many machines have failed."""
        waited: dict[tuple[str, str], tuple[ObservedMachine | None, str]] = {
            (observed.machine.id, what): (observed, reason) for observed, what, reason in self._awaited(view)
        }
        if self.plan.short:
            waited["", "short"] = (None, f"{self.plan.short} machines are missing: the cloud has not made them")
        now = self.clock()
        self._begun = {key: self._begun.get(key, now) for key in waited}
        for key, (observed, reason) in waited.items():
            if now - self._begun[key] < self.settings.within_s:
                continue
            late = f"{reason}, after {self.settings.within_s / 60:.0f} min"
            if observed is None:
                self._stop(view, late)
            else:
                self._fail(observed, late)
        if len(self.failed) > self.settings.budget:
            self._stop(view, f"{len(self.failed)} failed, and {self.settings.budget} may")

    def _awaited(self, view: View) -> Iterable[tuple[ObservedMachine, str, str]]:
        """Yield the events that should now happen without a step: machine, awaited event, and why it has not
        happened."""
        acting = {step.target.machine.id: step.action for step in self.plan.steps}
        for observed in view.machines:
            if observed.machine.id in self.failed:
                continue
            state = self.plan.states[observed.machine.id]
            if state is RollState.JOINING:
                yield observed, "joining", observed.unready_reason or "the cloud still makes it"
            elif state is RollState.REPLACING:
                yield observed, "replacing", "the cloud has not replaced it"
            elif state is RollState.ABSENT and observed.machine.life is not Life.PRESENT:
                yield observed, "absent", "the cloud still makes it"
            elif acting.get(observed.machine.id) is RollAction.EMPTY:
                blocked = self._blocked.get(observed.machine.id)
                yield observed, "empty", f"it is not empty: {blocked or 'its pods have not ended'}"

    def _try(self, step: RollStep, view: View) -> None:
        """Run a step. A transient failure is retried by the next pass; any other failure makes the machine fail."""
        try:
            self._do(step, view)
        except (ApiError, CloudError) as error:
            if error.passing:
                self._say(RollEventKind.RETRY, step.target, f"{error}; asked again")
            else:
                self._fail(step.target, str(error))

    def _do(self, step: RollStep, view: View) -> None:
        observed, machine, node = step.target, step.target.machine, step.target.node
        match step.action, node:
            case RollAction.REMAKE, _:
                self.replaced.add(machine.id)
                self._say(RollEventKind.REPLACING, observed, f"is replaced: {step.reason}")
                self.cloud.remake(machine)
            case RollAction.REPLACE, _:
                self._replace(step)
            case RollAction.REBUILD, _:
                self.cloud.rebuild(machine)
                self._note(observed, REBUILDING)
            case RollAction.EMPTY, _:
                self._empty(step)
            case _, None:
                pass
            case RollAction.CORDON, _:
                since = view.now.isoformat(timespec="seconds")
                if cordon(self.api, node, annotations={ROLL: view.group.target, ROLL_SINCE: since}):
                    self._say(RollEventKind.CORDONED, observed, f"is cordoned: {step.reason}")
            case RollAction.UNCORDON, _:
                self._give_back(observed, step.reason)
            case RollAction.FORGET, _:
                self.api.delete(NODES + path_of(observed.name), uid=node["metadata"]["uid"])

    def _replace(self, step: RollStep) -> None:
        observed, machine = step.target, step.target.machine
        if not observed.stage:
            if not self._note(observed, REPLACING):
                return
            self._say(RollEventKind.REPLACING, observed, "is replaced")
        self.replaced.add(machine.id)
        self.cloud.replace(machine)

    def _empty(self, step: RollStep) -> None:
        observed = step.target
        if observed.machine.id not in self._blocked:
            self._blocked[observed.machine.id] = ""
            self._say(RollEventKind.EMPTYING, observed, f"is emptied: {step.reason}")
        left = {pod: reason for pod, reason in evict_all(self.api, observed.pods_to_move).items() if reason}
        blocked = drain_line(left)
        if blocked and blocked != self._blocked[observed.machine.id]:
            self._say(RollEventKind.BLOCKED, observed, f"may not be emptied yet: {blocked}")
        self._blocked[observed.machine.id] = blocked

    def _note(self, observed: ObservedMachine, stage: str) -> bool:
        return observed.node is not None and annotate(self.api, observed.node, {ROLL_STAGE: stage})

    def _give_back(self, observed: ObservedMachine, reason: str) -> bool:
        done = observed.node is not None and uncordon(self.api, observed.node, annotations=ANNOTATIONS)
        if done:
            self._say(RollEventKind.UNCORDONED, observed, f"takes pods again: {reason}")
        return done

    def _fail(self, observed: ObservedMachine, reason: str) -> None:
        """Give a machine up. If it was only cordoned, uncordon it."""
        self.failed[observed.machine.id] = reason
        self._say(RollEventKind.FAILED, observed, reason)
        self.give_back([observed], "it was given up")

    def _stop(self, view: View, reason: str) -> None:
        self.give_back(view.machines, "the roll has stopped")
        raise StoppedError(reason)

    def give_back(self, machines: Iterable[ObservedMachine], reason: str) -> None:
        """Uncordon machines that the roll cordoned but did not begin to replace. Machines whose replacement was begun
        cannot take work; another run continues with them."""
        for first in (machine for machine in machines if not machine.machine.current):
            machine = first
            try:
                # Somebody may have changed or cordoned it since the last look, so it is read again.
                while (
                    machine.is_cordoned_by_roll
                    and machine.cordoned
                    and not machine.stage
                    and not self._give_back(machine, reason)
                ):
                    machine = replace(machine, node=self.api.find(NODES + path_of(machine.name)))
            except ApiError as error:
                self._say(RollEventKind.RETRY, machine, f"stays cordoned: {error}")

    def _say(self, kind: RollEventKind, observed: ObservedMachine, detail: str) -> None:
        self.tell(Event(kind=kind, node=observed.name, machine=observed.machine.id, detail=detail))


def reasons(view: View, states: Mapping[str, RollState], limits: RollLimits) -> dict[str, str]:
    """Return why machines are not current, by node name."""
    by_node = {}
    for observed in view.machines:
        match states[observed.machine.id]:
            case RollState.WAITING | RollState.BUSY:
                by_node[observed.name] = f"works on {_names(observed)}"
            case RollState.KEPT:
                by_node[observed.name] = why_kept(observed)
            case RollState.JOINING:
                by_node[observed.name] = observed.unready_reason
            case RollState.RELEASED:
                by_node[observed.name] = why_released(observed, view, limits)
    return by_node


def _names(observed: ObservedMachine) -> str:
    """Return the names of a machine's pods as short text."""
    first = ", ".join(map(str, observed.pods_with_work[:3]))
    return f"{first} and {len(observed.pods_with_work) - 3} others" if len(observed.pods_with_work) > 3 else first
