"""Next steps of a roll, decided from what is seen and nothing else. Pure.

Old machines without work go first. Then machines with work are cordoned and wait. Together with machines that are being
replaced, they are never more than may be out of service, so that the rest of the pool goes on taking work. A machine
that becomes free meanwhile need not wait for them. A waiting machine that is released comes before a free one, since
its checkpoint ages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from clouds.base.live_groups import Life
from contract.kubernetes.drain import OVERDUE, DrainPod
from longhaul.roll.observed import REBUILDING, ObservedMachine, View

CLOCKS = timedelta(minutes=1)
"""Largest difference between machines' clocks that is accepted. A checkpoint further in the future does not count: it
would be valid forever."""


class RollState(StrEnum):
    """State of a machine in a roll."""

    CURRENT = "current"
    """Made from the group's current model, and in service."""
    JOINING = "joining"
    """Made from the current model, and not in service yet."""
    RETURNED = "returned"
    """In service and current although a roll had cordoned it: the group's model was changed back."""
    REPLACING = "replacing"
    """The cloud replaces it, or is about to."""
    EMPTY = "empty"
    """Cordoned by the roll, without work."""
    RELEASED = "released"
    """Cordoned by the roll; its work may be ended."""
    WAITING = "waiting"
    """Cordoned by the roll; its work goes on."""
    ABSENT = "absent"
    """An old machine without a Node: no work can run on it."""
    FREE = "free"
    """An old machine in service, without work."""
    BUSY = "busy"
    """An old machine in service, with work."""
    KEPT = "kept"
    """An old machine that somebody wants left alone."""


class RollAction(StrEnum):
    """Kind of step. Each may be repeated without harm."""

    CORDON = "cordon"
    UNCORDON = "uncordon"
    EMPTY = "empty"
    REPLACE = "replace"
    REBUILD = "rebuild"
    REMAKE = "remake"
    FORGET = "forget"
    """Delete the Node of a machine that was made anew, so that it may join under its name."""


@dataclass(frozen=True, kw_only=True)
class RollLimits:
    """Limits of a roll."""

    at_once: int
    """Number of machines that the roll may take out of service at a time."""
    deadline: timedelta | None = None
    """Time that work may go on after its node was cordoned; None for as long as it takes."""


@dataclass(frozen=True, kw_only=True)
class RollStep:
    """One step on a machine."""

    action: RollAction
    seen: ObservedMachine
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class RollPlan:
    """Steps to do now, and the states of all machines."""

    steps: tuple[RollStep, ...] = ()
    states: dict[str, RollState] = field(default_factory=dict)
    """States by machine's id."""
    short: int = 0
    """Number of machines that the group should have and does not have."""
    done: bool = False
    """True when there is nothing left to do or to wait for."""


def state_of(seen: ObservedMachine, view: View, limits: RollLimits) -> RollState:
    """Return the state of one machine."""
    machine = seen.machine
    if machine.life is Life.LEAVING:
        return RollState.REPLACING
    if view.in_place and seen.stage:
        return RollState.REPLACING
    if machine.current:
        if seen.ours and not seen.unready:
            return RollState.RETURNED
        return RollState.JOINING if seen.unready or machine.life is Life.CHANGING else RollState.CURRENT
    if seen.stage:
        return RollState.REPLACING
    if machine.keep_reason or why_kept(seen):
        return RollState.KEPT
    if seen.node is None:
        return RollState.ABSENT
    if not seen.work:
        return RollState.EMPTY if seen.ours else RollState.FREE
    if not seen.ours:
        return RollState.BUSY
    return RollState.RELEASED if why_released(seen, view, limits) else RollState.WAITING


def why_kept(seen: ObservedMachine) -> str:
    """Return why an old machine is left alone; empty when it is not."""
    if seen.machine.keep_reason:
        return seen.machine.keep_reason
    if seen.cordoned and not seen.ours:
        return "somebody cordoned it"
    if seen.ours and not seen.cordoned:
        return "somebody took its cordon back: take its annotations longhaul.dev/roll… away to have it rolled"
    return ""


def why_released(seen: ObservedMachine, view: View, limits: RollLimits) -> str:
    """Return why a node's work may be ended; empty when it may not."""
    since = seen.since
    if since is None:
        return ""
    if limits.deadline is not None and view.now - since >= limits.deadline:
        return f"its deadline of {limits.deadline} has passed"
    latest = view.now + CLOCKS
    if all(pod.checkpointed_at is not None and since <= pod.checkpointed_at <= latest for pod in seen.work):
        return "all of its work has written a checkpoint"
    return ""


def plan(view: View, limits: RollLimits, *, failed: Collection[str] = ()) -> RollPlan:
    """Return the steps to do now. ``failed`` are the ids of machines that are given up: nothing is done to them, and
    nothing waits for them."""
    states = {seen.machine.id: state_of(seen, view, limits) for seen in view.seen}
    mine = [seen for seen in view.seen if seen.machine.id not in failed]
    out, short = _out_of_service(view, states, failed)
    slots = max(0, limits.at_once - out)
    by_state = {state: [seen for seen in mine if states[seen.machine.id] is state] for state in RollState}
    goes = [
        *_settled_first(by_state[RollState.EMPTY]),
        *_settled_first(by_state[RollState.RELEASED]),
        *(seen for seen in by_state[RollState.ABSENT] if seen.machine.life is Life.PRESENT),
        *sorted(by_state[RollState.FREE], key=lambda seen: not seen.unready),
    ]
    taken, later = goes[:slots], goes[slots:]
    steps = [
        *(
            RollStep(action=RollAction.UNCORDON, seen=seen, reason="it is current")
            for seen in by_state[RollState.RETURNED]
        ),
        *(step for seen in by_state[RollState.REPLACING] for step in _onward(seen, view)),
        *(_take(seen, states[seen.machine.id], view, limits) for seen in taken),
    ]
    if not any(states[seen.machine.id] is RollState.FREE for seen in later):
        waiting = len(by_state[RollState.WAITING]) + sum(
            states[seen.machine.id] is RollState.RELEASED for seen in later
        )
        room = max(0, slots - len(taken) - waiting)
        reason = "it is left until its work ends"
        busy = sorted(by_state[RollState.BUSY], key=lambda seen: (len(seen.work), seen.name))
        steps += [RollStep(action=RollAction.CORDON, seen=seen, reason=reason) for seen in busy[:room]]
    finished = (RollState.CURRENT, RollState.KEPT)
    done = short == 0 and all(states[seen.machine.id] in finished for seen in mine)
    return RollPlan(steps=tuple(steps), states=states, short=short, done=done)


def _out_of_service(view: View, states: dict[str, RollState], failed: Collection[str]) -> tuple[int, int]:
    """Return the number of machines that are missing in the pool, and how many of these the cloud has not made."""
    staying = [seen for seen in view.seen if seen.machine.life is not Life.LEAVING]
    short = max(0, view.group.wanted - len(staying))
    coming = [seen for seen in staying if states[seen.machine.id] in (RollState.JOINING, RollState.REPLACING)]
    return short + sum(seen.machine.id not in failed for seen in coming), short


def _settled_first(group: list[ObservedMachine]) -> list[ObservedMachine]:
    """Sort machines whose pods are already leaving to the front, so that what was begun is finished; then by the time
    of their cordon."""
    return sorted(group, key=lambda seen: (not any(pod.leaving for pod in seen.left), str(seen.since)))


def _take(seen: ObservedMachine, state: RollState, view: View, limits: RollLimits) -> RollStep:
    if state is RollState.ABSENT:
        return RollStep(action=RollAction.REMAKE, seen=seen, reason="it is no node, so nobody works on it")
    if state is RollState.FREE:
        return RollStep(action=RollAction.CORDON, seen=seen, reason="nobody works on it")
    if any(_awaited(pod, seen, view) for pod in seen.left):
        reason = why_released(seen, view, limits) if state is RollState.RELEASED else "nobody works on it"
        return RollStep(action=RollAction.EMPTY, seen=seen, reason=reason)
    return RollStep(action=RollAction.REPLACE, seen=seen, reason="it is empty")


def _awaited(pod: DrainPod, seen: ObservedMachine, view: View) -> bool:
    """Return whether it makes sense to wait until a pod is gone."""
    return not (seen.unready and pod.ends_at is not None and view.now - pod.ends_at > OVERDUE)


def _onward(seen: ObservedMachine, view: View) -> Iterator[RollStep]:
    """Yield the next step of a replacement that this run or another has begun."""
    machine = seen.machine
    if machine.life is not Life.PRESENT or not seen.stage:
        return
    if not view.in_place or not machine.current:
        yield RollStep(action=RollAction.REPLACE, seen=seen, reason="its replacement was begun")
    elif seen.stage == REBUILDING:
        yield RollStep(action=RollAction.FORGET, seen=seen, reason="it was made anew, and joins as a new node")
    else:
        yield RollStep(action=RollAction.REBUILD, seen=seen, reason="it has taken over the new model")
