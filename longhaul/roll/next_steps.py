"""Next steps of a roll, decided from the observed state alone. Pure.

Old machines without work go first. Then machines with work are cordoned and wait. Waiting machines and machines that
are being replaced together never exceed the number that may be out of service, so that the rest of the pool continues
to take work. A machine that becomes free does not wait for the waiting machines. A waiting machine that is released
comes before a free machine, since the checkpoint of its work ages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from clouds.base.live_groups import Life
from contract.kubernetes.drain import OVERDUE, DrainPod
from longhaul.roll.limits import RollLimits
from longhaul.roll.observed import REBUILDING, ObservedMachine, View

CLOCKS = timedelta(minutes=1)
"""Largest accepted difference between machines' clocks. A checkpoint further in the future does not count: it would be
valid forever."""


class RollState(StrEnum):
    """State of a machine in a roll."""

    CURRENT = "current"
    """Made from the group's current model, and in service."""
    JOINING = "joining"
    """Made from the current model, but not in service yet."""
    RETURNED = "returned"
    """In service and current although a roll had cordoned it: the group's model was changed back."""
    REPLACING = "replacing"
    """The cloud is replacing it, or is about to."""
    EMPTY = "empty"
    """Cordoned by the roll, and has no work."""
    RELEASED = "released"
    """Cordoned by the roll, and its work may be ended."""
    WAITING = "waiting"
    """Cordoned by the roll, and its work continues."""
    ABSENT = "absent"
    """An old machine without a Node: no work can run on it."""
    FREE = "free"
    """An old machine in service, without work."""
    BUSY = "busy"
    """An old machine in service, with work."""
    KEPT = "kept"
    """An old machine that somebody excluded from the roll."""


class RollAction(StrEnum):
    """Kind of step. Each may be repeated without harm."""

    CORDON = "cordon"
    UNCORDON = "uncordon"
    EMPTY = "empty"
    REPLACE = "replace"
    REBUILD = "rebuild"
    REMAKE = "remake"
    FORGET = "forget"
    """Delete the Node of a rebuilt machine, so that the machine may join again under its name."""


@dataclass(frozen=True, kw_only=True)
class RollStep:
    """One step on a machine."""

    action: RollAction
    target: ObservedMachine
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class RollPlan:
    """Steps to do now, and the states of all machines."""

    steps: tuple[RollStep, ...] = ()
    states: dict[str, RollState] = field(default_factory=dict)
    """States by machine id."""
    short: int = 0
    """Number of machines that the group should have and lacks."""
    done: bool = False
    """True when nothing is left to do or to wait for."""


def state_of(observed: ObservedMachine, view: View, limits: RollLimits) -> RollState:
    """Return the state of one machine."""
    machine = observed.machine
    if machine.life is Life.LEAVING:
        return RollState.REPLACING
    if view.in_place and observed.stage:
        return RollState.REPLACING
    if machine.current:
        if observed.is_cordoned_by_roll and not observed.unready_reason:
            return RollState.RETURNED
        return RollState.JOINING if observed.unready_reason or machine.life is Life.CHANGING else RollState.CURRENT
    if observed.stage:
        return RollState.REPLACING
    if machine.keep_reason or why_kept(observed):
        return RollState.KEPT
    if observed.node is None:
        return RollState.ABSENT
    if not observed.pods_with_work:
        return RollState.EMPTY if observed.is_cordoned_by_roll else RollState.FREE
    if not observed.is_cordoned_by_roll:
        return RollState.BUSY
    return RollState.RELEASED if why_released(observed, view, limits) else RollState.WAITING


def why_kept(observed: ObservedMachine) -> str:
    """Return why an old machine is not rolled; empty when it may be."""
    if observed.machine.keep_reason:
        return observed.machine.keep_reason
    if observed.cordoned and not observed.is_cordoned_by_roll:
        return "somebody cordoned it"
    if observed.is_cordoned_by_roll and not observed.cordoned:
        return "somebody removed its cordon: remove its annotations longhaul.dev/roll… to have it rolled"
    return ""


def why_released(observed: ObservedMachine, view: View, limits: RollLimits) -> str:
    """Return why a node's work may be ended; empty when it may not."""
    since = observed.cordoned_at
    if since is None:
        return ""
    if limits.deadline is not None and view.now - since >= limits.deadline:
        return f"its deadline of {limits.deadline} has passed"
    latest = view.now + CLOCKS
    if all(
        pod.checkpointed_at is not None and since <= pod.checkpointed_at <= latest for pod in observed.pods_with_work
    ):
        return "all of its work has written a checkpoint"
    return ""


def plan(view: View, limits: RollLimits, *, failed: Collection[str] = ()) -> RollPlan:
    """Return the steps to do now. ``failed`` are the ids of machines that are given up: no step touches them, and
    nothing waits for them."""
    states = {observed.machine.id: state_of(observed, view, limits) for observed in view.machines}
    mine = [observed for observed in view.machines if observed.machine.id not in failed]
    out, short = _out_of_service(view, states, failed)
    slots = max(0, limits.at_once - out)
    by_state = {state: [observed for observed in mine if states[observed.machine.id] is state] for state in RollState}
    goes = [
        *_settled_first(by_state[RollState.EMPTY]),
        *_settled_first(by_state[RollState.RELEASED]),
        *(observed for observed in by_state[RollState.ABSENT] if observed.machine.life is Life.PRESENT),
        *sorted(by_state[RollState.FREE], key=lambda observed: not observed.unready_reason),
    ]
    taken, later = goes[:slots], goes[slots:]
    steps = [
        *(
            RollStep(action=RollAction.UNCORDON, target=observed, reason="it is current")
            for observed in by_state[RollState.RETURNED]
        ),
        *(step for observed in by_state[RollState.REPLACING] for step in _onward(observed, view)),
        *(_take(observed, states[observed.machine.id], view, limits) for observed in taken),
    ]
    if not any(states[observed.machine.id] is RollState.FREE for observed in later):
        waiting = len(by_state[RollState.WAITING]) + sum(
            states[observed.machine.id] is RollState.RELEASED for observed in later
        )
        room = max(0, slots - len(taken) - waiting)
        reason = "it is left until its work ends"
        busy = sorted(by_state[RollState.BUSY], key=lambda observed: (len(observed.pods_with_work), observed.name))
        steps += [RollStep(action=RollAction.CORDON, target=observed, reason=reason) for observed in busy[:room]]
    finished = (RollState.CURRENT, RollState.KEPT)
    done = short == 0 and all(states[observed.machine.id] in finished for observed in mine)
    return RollPlan(steps=tuple(steps), states=states, short=short, done=done)


def _out_of_service(view: View, states: dict[str, RollState], failed: Collection[str]) -> tuple[int, int]:
    """Return the number of machines that are out of service in the pool, and how many of these the cloud has not
    made."""
    staying = [observed for observed in view.machines if observed.machine.life is not Life.LEAVING]
    short = max(0, view.group.wanted - len(staying))
    coming = [
        observed for observed in staying if states[observed.machine.id] in (RollState.JOINING, RollState.REPLACING)
    ]
    return short + sum(observed.machine.id not in failed for observed in coming), short


def _settled_first(group: list[ObservedMachine]) -> list[ObservedMachine]:
    """Sort machines whose pods are already leaving to the front, so that begun work is finished first; then by the time
    of their cordon."""
    return sorted(
        group, key=lambda observed: (not any(pod.leaving for pod in observed.pods_to_move), str(observed.cordoned_at))
    )


def _take(observed: ObservedMachine, state: RollState, view: View, limits: RollLimits) -> RollStep:
    if state is RollState.ABSENT:
        return RollStep(action=RollAction.REMAKE, target=observed, reason="it is not a node, so no work runs on it")
    if state is RollState.FREE:
        return RollStep(action=RollAction.CORDON, target=observed, reason="no work runs on it")
    if any(_awaited(pod, observed, view) for pod in observed.pods_to_move):
        reason = why_released(observed, view, limits) if state is RollState.RELEASED else "no work runs on it"
        return RollStep(action=RollAction.EMPTY, target=observed, reason=reason)
    return RollStep(action=RollAction.REPLACE, target=observed, reason="it is empty")


def _awaited(pod: DrainPod, observed: ObservedMachine, view: View) -> bool:
    """Return whether waiting for a pod's end makes sense."""
    return not (observed.unready_reason and pod.ends_at is not None and view.now - pod.ends_at > OVERDUE)


def _onward(observed: ObservedMachine, view: View) -> Iterator[RollStep]:
    """Yield the next step of a replacement that this run or another has begun."""
    machine = observed.machine
    if machine.life is not Life.PRESENT or not observed.stage:
        return
    if not view.in_place or not machine.current:
        yield RollStep(action=RollAction.REPLACE, target=observed, reason="its replacement was begun")
    elif observed.stage == REBUILDING:
        yield RollStep(action=RollAction.FORGET, target=observed, reason="it was replaced, and joins as a new node")
    else:
        yield RollStep(action=RollAction.REBUILD, target=observed, reason="it has taken over the new model")
