"""The next steps of a roll, derived from what it sees."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from clouds.base.live_groups import GroupState, Life, LiveMachine
from contract.annotations import ROLL, ROLL_SINCE, ROLL_STAGE
from contract.kubernetes.drain import DrainPod
from longhaul.roll.limits import RollLimits
from longhaul.roll.next_steps import RollAction, RollPlan, RollState, plan, state_of
from longhaul.roll.observed import ObservedMachine, View
from tests.support.pool import BEGIN

ONE = RollLimits(at_once=1)
OURS = {ROLL: "v2", ROLL_SINCE: BEGIN.isoformat()}


def node(
    name: str, *, cordoned: bool = False, ready: bool = True, taint: str = "", **annotations: str
) -> dict[str, Any]:
    status = {"conditions": [{"type": "Ready", "status": "True" if ready else "Unknown", "message": "no word"}]}
    spec: dict[str, Any] = {"taints": [{"key": taint, "effect": "NoSchedule"}] if taint else []}
    if cordoned:
        spec["unschedulable"] = True
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec, "status": status}


def work(name: str = "job", *, at: datetime | None = None, leaving: bool = False) -> DrainPod:
    return DrainPod(
        namespace="team", name=name, uid=name, stays=False, work=not leaving, leaving=leaving, checkpointed_at=at
    )


def light(name: str = "dns") -> DrainPod:
    return DrainPod(namespace="kube-system", name=name, uid=name, stays=False, work=False, leaving=False)


def old(
    name: str, *pods: DrainPod, life: Life = Life.PRESENT, keep_reason: str = "", **of_node: Any
) -> ObservedMachine:
    machine = LiveMachine(id=f"id-{name}", node=name, current=False, life=life, keep_reason=keep_reason)
    return ObservedMachine(machine=machine, node=node(name, **of_node), pods=pods)


def new(name: str, life: Life = Life.PRESENT, **of_node: Any) -> ObservedMachine:
    return ObservedMachine(
        machine=LiveMachine(id=f"id-{name}", node=name, current=True, life=life), node=node(name, **of_node)
    )


def absent(name: str, *, current: bool = False) -> ObservedMachine:
    return ObservedMachine(machine=LiveMachine(id=f"id-{name}", node=name, current=current))


def taken(name: str, *pods: DrainPod, stage: str = "", since: datetime = BEGIN, **more: Any) -> ObservedMachine:
    notes = {ROLL: "v2", ROLL_SINCE: since.isoformat(), **({ROLL_STAGE: stage} if stage else {})}
    return old(name, *pods, cordoned=True, **notes, **more)


def view(*seen: ObservedMachine, wanted: int | None = None, in_place: bool = False, now: datetime = BEGIN) -> View:
    machines = tuple(one.machine for one in seen)
    group = GroupState(target="v2", wanted=len(seen) if wanted is None else wanted, machines=machines)
    return View(group=group, in_place=in_place, now=now, machines=seen)


def steps(found: RollPlan) -> list[tuple[RollAction, str]]:
    return [(step.action, step.target.name) for step in found.steps]


HOUR = timedelta(hours=1)


@pytest.mark.parametrize("seen", [(new("a"), new("b")), ()], ids=["all are new", "an empty pool"])
def test_nothing_to_do_is_done(seen: tuple[ObservedMachine, ...]) -> None:
    found = plan(view(*seen), ONE)
    assert (found.steps, found.done) == ((), True)


@pytest.mark.parametrize(
    ("seen", "step"),
    [
        ((old("a", work()), old("b"), old("c")), (RollAction.CORDON, "b")),
        ((old("a"), old("b", ready=False)), (RollAction.CORDON, "b")),
        ((old("a"), taken("b", light())), (RollAction.EMPTY, "b")),
        ((old("a"), taken("b")), (RollAction.REPLACE, "b")),
        ((taken("a", work()), old("b")), (RollAction.CORDON, "b")),
        ((old("a"), taken("b", work(at=BEGIN))), (RollAction.EMPTY, "b")),
        (
            (taken("a", work(at=BEGIN)), taken("b", work("x", at=BEGIN), work("y", leaving=True))),
            (RollAction.EMPTY, "b"),
        ),
        ((taken("a"), old("b", work())), (RollAction.REPLACE, "a")),
        ((taken("a", stage="replacing"),), (RollAction.REPLACE, "a")),
        ((new("a", cordoned=True, **OURS),), (RollAction.UNCORDON, "a")),
        ((old("a"), absent("b")), (RollAction.REMAKE, "b")),
    ],
    ids=[
        "the free one goes first",
        "one that takes no pods goes before one that does",
        "what was taken up is emptied before another is",
        "what is empty is replaced",
        "one that becomes free does not wait for those that wait",
        "whoever is let go comes before whoever is free",
        "what was begun keeps its place",
        "a busy one is not closed to work while another is replaced",
        "a replacement that was noted and not begun is begun",
        "what was taken up and is current again takes pods again",
        "an old machine that is no node is made anew: no work is lost",
    ],
)
def test_the_next_step(seen: tuple[ObservedMachine, ...], step: tuple[RollAction, str]) -> None:
    found = plan(view(*seen), ONE)
    assert (steps(found), found.done) == ([step], False)


def test_a_dead_nodes_pods_do_not_keep_its_machine() -> None:
    """They are marked for deletion and no kubelet ends them. On a node that answers, they are waited for."""
    gone = replace(work(leaving=True), ends_at=BEGIN)
    later = BEGIN + timedelta(minutes=2)
    assert steps(plan(view(taken("a", gone, ready=False), now=later), ONE)) == [(RollAction.REPLACE, "a")]
    assert steps(plan(view(taken("a", gone, ready=False), now=BEGIN), ONE)) == [(RollAction.EMPTY, "a")]
    assert steps(plan(view(taken("a", gone), now=later), ONE)) == [(RollAction.EMPTY, "a")]
    assert steps(plan(view(taken("a", gone, work("b"), ready=False), now=later), ONE)) == []


def test_work_that_came_before_the_cordon_took_hold_is_waited_for() -> None:
    found = plan(view(taken("a", work(), light()), old("b")), ONE)
    assert (found.states["id-a"], steps(found)) == (RollState.WAITING, [(RollAction.CORDON, "b")])


def test_busy_ones_are_cordoned_only_when_no_free_one_is_left_and_only_so_many() -> None:
    pods = [work("x"), work("y")]
    found = plan(view(old("a", *pods), old("b", work()), old("c", work())), ONE)
    assert steps(found) == [(RollAction.CORDON, "b")]
    assert steps(plan(view(old("a", *pods), taken("b", work())), ONE)) == []
    two = RollLimits(at_once=2)
    assert steps(plan(view(old("a", *pods), taken("b", work())), two)) == [(RollAction.CORDON, "a")]


def test_while_one_is_being_replaced_no_busy_one_is_closed_to_work() -> None:
    replacing = taken("a", stage="replacing", life=Life.LEAVING)
    assert steps(plan(view(replacing), ONE)) == []
    assert steps(plan(view(replacing, absent("n", current=True), old("b", work()), wanted=2), ONE)) == []


def test_only_so_many_are_out_of_service() -> None:
    two = RollLimits(at_once=2)
    assert len(plan(view(old("a"), old("b"), old("c")), two).steps) == 2
    assert steps(plan(view(new("n", ready=False), old("a"), old("b")), two)) == [(RollAction.CORDON, "a")]
    assert steps(plan(view(new("n", ready=False), new("m", ready=False), old("a")), two)) == []
    assert steps(plan(view(old("a"), wanted=3), two)) == []


def test_a_machine_that_goes_counts_once() -> None:
    """The machine and its successor take one place in the pool."""
    going = taken("a", stage="replacing", life=Life.LEAVING)
    both = plan(view(going, absent("n", current=True), old("b"), old("c"), wanted=3), RollLimits(at_once=2))
    assert steps(both) == [(RollAction.CORDON, "b")]
    alone = plan(view(going, old("b"), old("c"), wanted=3), RollLimits(at_once=2))
    assert (alone.short, steps(alone)) == (1, [(RollAction.CORDON, "b")])


@pytest.mark.parametrize(
    ("fresh", "state"),
    [
        (new("n"), RollState.CURRENT),
        (new("n", ready=False), RollState.JOINING),
        (new("n", taint="longhaul.dev/preflight"), RollState.JOINING),
        (new("n", taint="node.kubernetes.io/not-ready"), RollState.JOINING),
        (new("n", taint="nvidia.com/gpu"), RollState.CURRENT),
        (new("n", cordoned=True, taint="node.kubernetes.io/unschedulable"), RollState.CURRENT),
        (new("n", life=Life.CHANGING), RollState.JOINING),
        (absent("n", current=True), RollState.JOINING),
        (new("n", cordoned=True, **OURS), RollState.RETURNED),
    ],
)
def test_when_a_new_machine_is_in_service(fresh: ObservedMachine, state: RollState) -> None:
    assert state_of(fresh, view(fresh), ONE) is state


def test_taints_that_the_pool_has_for_good_keep_nobody_waiting() -> None:
    fresh = replace(new("n", taint="longhaul.dev/system"), taints=frozenset({("longhaul.dev/system", "NoSchedule")}))
    assert state_of(fresh, view(fresh), ONE) is RollState.CURRENT


@pytest.mark.parametrize(
    "kept",
    [old("a", cordoned=True), old("a", **OURS), old("a", keep_reason="it is protected")],
    ids=["a person's cordon", "a cordon that a person took back", "the cloud holds it"],
)
def test_what_is_left_alone(kept: ObservedMachine) -> None:
    found = plan(view(kept, new("b")), ONE)
    assert (found.states["id-a"], found.steps, found.done) == (RollState.KEPT, (), True)


@pytest.mark.parametrize(
    ("pods", "released"),
    [
        ([work(at=BEGIN + HOUR)], True),
        ([work(at=BEGIN)], True),
        ([work(at=BEGIN - HOUR)], False),
        ([work()], False),
        ([work("x", at=BEGIN + HOUR), work("y")], False),
        ([work("x", at=BEGIN + HOUR), work("y", at=BEGIN + HOUR)], True),
        ([work("x", at=BEGIN + HOUR), light()], True),
        ([work(at=BEGIN + 1000 * HOUR)], False),
    ],
)
def test_work_is_over_at_a_checkpoint_of_all_of_it_since_the_cordon(pods: list[DrainPod], released: bool) -> None:
    seen = taken("a", *pods)
    found = plan(view(seen, now=BEGIN + 2 * HOUR), ONE)
    assert found.states["id-a"] is (RollState.RELEASED if released else RollState.WAITING)
    assert steps(found) == ([(RollAction.EMPTY, "a")] if released else [])


def test_a_deadline_ends_work_and_without_one_nothing_does() -> None:
    seen = taken("a", work())
    later = view(seen, now=BEGIN + 1000 * HOUR)
    assert steps(plan(later, ONE)) == []
    assert steps(plan(later, RollLimits(at_once=1, deadline=6 * HOUR))) == [(RollAction.EMPTY, "a")]
    sooner = view(seen, now=BEGIN + 5 * HOUR)
    assert steps(plan(sooner, RollLimits(at_once=1, deadline=6 * HOUR))) == []


def test_an_old_machine_that_is_no_node_is_absent() -> None:
    assert plan(view(old("a"), absent("b")), ONE).states["id-b"] is RollState.ABSENT


def test_a_replacement_in_place_goes_on_wherever_it_was() -> None:
    def onward(current: bool, stage: str, life: Life = Life.PRESENT) -> list[tuple[RollAction, str]]:
        seen = taken("a", stage=stage)
        seen = replace(seen, machine=replace(seen.machine, current=current, life=life))
        return steps(plan(view(seen, in_place=True), ONE))

    assert onward(current=False, stage="replacing") == [(RollAction.REPLACE, "a")]
    assert onward(current=False, stage="replacing", life=Life.CHANGING) == []
    assert onward(current=True, stage="replacing") == [(RollAction.REBUILD, "a")]
    assert onward(current=True, stage="rebuilding", life=Life.CHANGING) == []
    assert onward(current=True, stage="rebuilding") == [(RollAction.FORGET, "a")]


def test_what_was_given_up_is_neither_touched_nor_waited_for() -> None:
    found = plan(view(new("n", ready=False), old("a")), ONE, failed={"id-n"})
    assert steps(found) == [(RollAction.CORDON, "a")]
    assert plan(view(new("n", ready=False), new("a")), ONE, failed={"id-n"}).done
