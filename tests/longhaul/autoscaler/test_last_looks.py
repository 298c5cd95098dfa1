"""Looks that the autoscaler takes right before it writes, and notes that it takes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from clouds.base.fleet import Machine
from longhaul.drain import NODES
from tests.longhaul.autoscaler.acting import World
from tests.support.api_server import eventually

pytestmark = pytest.mark.engine


def test_who_uncordons_a_node_takes_the_note_along(world: World) -> None:
    """Otherwise a later cordon by hand would look like the autoscaler's."""
    world.pods(1)
    with world.process() as passes:
        world.settle(passes)
        (node,) = [item["metadata"]["name"] for item in world.admin.items(NODES)]
        note = {"metadata": {"annotations": {"longhaul.dev/scale-in-since": "2026-03-01T11:55:00Z"}}}
        world.admin.patch(f"{NODES}/{node}", note)
        world.once(passes)
        assert "longhaul.dev/scale-in-since" not in (
            world.admin.get(f"{NODES}/{node}")["metadata"]["annotations"] or {}
        )
        world.admin.patch(f"{NODES}/{node}", {"spec": {"unschedulable": True}})
        world.once(passes)
    assert world.admin.get(f"{NODES}/{node}")["spec"]["unschedulable"], "a cordon by hand stays"


def test_no_size_goes_below_what_exists(world: World) -> None:
    """A machine that was made after the look that a decision is made on would be the cloud's to choose."""
    world.limit(1)
    world.pods(2)
    with world.process() as passes:
        world.once(passes)
        group = world.real["h100"]
        eventually(lambda: len(group.look().machines) == 1, what="one is made")
        first, late = group.look(), Machine(id="i-late", node="i-late", current=True)
        looks, later = iter([first]), replace(first, machines=(*first.machines, late))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(group, "look", lambda: next(looks, later))
            world.once(passes)
    assert world.sizes()["h100"] == 2
    assert "not done: shrink prod-h100 from 2 to 1: it has 2 machines by now" in world.lines


def test_each_end_on_aws_is_looked_at_right_before(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.pods(4)
    with world.process() as passes:
        world.settle(passes)
    names = sorted(item["metadata"]["name"] for item in world.admin.items(NODES))
    world.end_pods()
    note = {"longhaul.dev/scale-in-since": "2026-03-01T11:55:00Z"}
    for name in names:
        world.admin.patch(f"{NODES}/{name}", {"metadata": {"annotations": note}, "spec": {"unschedulable": True}})
    group = world.real["h100"]
    end, ended = group.end, list[str]()

    def ends(machines: Sequence[str]) -> None:
        end(machines)
        ended.extend(machines)
        world.admin.patch(f"{NODES}/{names[-1]}", {"metadata": {"annotations": {"longhaul.dev/keep": "true"}}})

    monkeypatch.setattr(group, "end", ends)
    with world.process() as passes:
        world.once(passes)
    assert ended == names[:-1]
    assert f"not done: end {names[-1]} of prod-h100: it has longhaul.dev/keep" in world.lines
