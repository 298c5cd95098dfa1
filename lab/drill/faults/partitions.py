"""Faults of the network: a machine is cut off in one direction or in both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.members import answers, await_effect, await_successor, follower, leader

TABLE = "inet longhaul-drill"


@contextmanager
def follower_cut_off(environment: DrillEnvironment) -> Iterator[str]:
    """Drop all packets of a follower of the main etcd cluster."""
    members = environment.machines("etcd")
    machine = follower(environment, members)
    with _cut_off(environment, machine, "input", "output"):
        await_effect(lambda: not answers(environment, machine), what=f"{machine} has no quorum")
        yield machine


@contextmanager
def leader_cut_off(environment: DrillEnvironment) -> Iterator[str]:
    """Drop all packets of the leader of the main etcd cluster."""
    members = environment.machines("etcd")
    machine = leader(environment, members)
    with _cut_off(environment, machine, "input", "output"):
        await_successor(environment, members, of=machine)
        yield machine


@contextmanager
def leader_not_heard(environment: DrillEnvironment) -> Iterator[str]:
    """Drop packets from the leader of the main etcd cluster, but not those to it."""
    members = environment.machines("etcd")
    machine = leader(environment, members)
    with _cut_off(environment, machine, "output"):
        await_successor(environment, members, of=machine)
        yield machine


@contextmanager
def _cut_off(environment: DrillEnvironment, machine: str, *hooks: str) -> Iterator[None]:
    environment.output(machine, "nft", f"add table {TABLE}")
    try:
        for hook in hooks:
            side = "iif" if hook == "input" else "oif"
            chain = f"{TABLE} {hook} {{ type filter hook {hook} priority -300; }}"
            environment.output(machine, "nft", f"add chain {chain}")
            environment.output(machine, "nft", f"add rule {TABLE} {hook} {side} != lo drop")
        yield
    finally:
        environment.output(machine, "nft", f"delete table {TABLE}")


DRILLS: tuple[Drill, ...] = (
    Drill(
        name="follower-cut-off",
        summary="a follower of the main etcd cluster is cut off",
        goal_s=10.0,
        fault=follower_cut_off,
        lasts_s=20.0,
    ),
    Drill(
        name="leader-cut-off",
        summary="the leader of the main etcd cluster is cut off",
        goal_s=10.0,
        fault=leader_cut_off,
        lasts_s=20.0,
    ),
    Drill(
        name="leader-not-heard",
        summary="what the leader of the main etcd cluster sends is lost, and it still receives",
        goal_s=10.0,
        fault=leader_not_heard,
        lasts_s=20.0,
    ),
)
