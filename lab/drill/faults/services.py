"""Faults of a service: killed, paused, stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lab.drill.environment import DrillEnvironment
from lab.drill.members import leader

ETCD, API = "etcd.service", "kube-apiserver.service"


@contextmanager
def leader_killed(environment: DrillEnvironment) -> Iterator[str]:
    """Kill the leader of the main etcd cluster; systemd starts it again."""
    machine = leader(environment, environment.machines("etcd"))
    _signal(environment, machine, ETCD, "KILL")
    yield machine


@contextmanager
def follower_killed(environment: DrillEnvironment) -> Iterator[str]:
    """Kill a follower of the main etcd cluster; systemd starts it again."""
    members = environment.machines("etcd")
    machine = next(name for name in members if name != leader(environment, members))
    _signal(environment, machine, ETCD, "KILL")
    yield machine


@contextmanager
def leader_paused(environment: DrillEnvironment) -> Iterator[str]:
    """Pause the leader of the main etcd cluster, as a machine does that its host holds still."""
    machine = leader(environment, environment.machines("etcd"))
    with _paused(environment, machine, ETCD):
        yield machine


@contextmanager
def server_killed(environment: DrillEnvironment) -> Iterator[str]:
    """Kill the first API server; systemd starts it again."""
    machine = environment.machines("api")[0]
    _signal(environment, machine, API, "KILL")
    yield machine


@contextmanager
def server_hung(environment: DrillEnvironment) -> Iterator[str]:
    """Pause the first API server: it accepts connections and answers none."""
    machine = environment.machines("api")[0]
    with _paused(environment, machine, API):
        yield machine


@contextmanager
def events_stopped(environment: DrillEnvironment) -> Iterator[str]:
    """Stop all members of the events etcd cluster."""
    machines = environment.machines("events")
    for machine in machines:
        environment.output(machine, "systemctl", "stop", ETCD)
    try:
        yield ", ".join(machines)
    finally:
        for machine in machines:
            environment.output(machine, "systemctl", "start", "--no-block", ETCD)


@contextmanager
def _paused(environment: DrillEnvironment, machine: str, unit: str) -> Iterator[None]:
    _signal(environment, machine, unit, "STOP")
    try:
        yield
    finally:
        _signal(environment, machine, unit, "CONT")


def _signal(environment: DrillEnvironment, machine: str, unit: str, name: str) -> None:
    environment.output(machine, "systemctl", "kill", "--kill-whom=main", f"--signal={name}", unit)
