"""Faults of power: data that a machine has not synced is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.members import await_effect, leader

PARTS = ("etcd", "events", "api")


@contextmanager
def leader_cut(environment: DrillEnvironment) -> Iterator[str]:
    """Cut the power of the machine of the leader of the main etcd cluster."""
    machine = leader(environment, environment.machines("etcd"))
    with _cut(environment, [machine]):
        yield machine


@contextmanager
def all_cut(environment: DrillEnvironment) -> Iterator[str]:
    """Cut the power of all machines of the control plane."""
    machines = [name for part in PARTS for name in environment.machines(part)]
    with _cut(environment, machines):
        yield ", ".join(machines)


@contextmanager
def _cut(environment: DrillEnvironment, machines: Sequence[str]) -> Iterator[None]:
    try:
        for machine in machines:
            environment.power(machine, "cut")
        for machine in machines:
            await_effect(partial(_is_off, environment, machine), what=f"{machine} is off")
        yield
    finally:
        for machine in machines:
            environment.power(machine, "on")


def _is_off(environment: DrillEnvironment, machine: str) -> bool:
    return environment.phase(machine) == "stopped"


DRILLS: tuple[Drill, ...] = (
    Drill(
        name="leader-power-cut",
        summary="the machine of the leader of the main etcd cluster loses power",
        goal_s=10.0,
        fault=leader_cut,
        lasts_s=5.0,
    ),
    Drill(
        name="all-power-cut",
        summary="all machines of the control plane lose power at once",
        goal_s=60.0,
        fault=all_cut,
    ),
)
