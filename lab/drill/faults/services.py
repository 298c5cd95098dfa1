"""Faults of a service: killed, paused, stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from contract.units import ETCD, KUBE_APISERVER
from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.members import answers, await_effect, await_successor, follower, leader

BACK_S = 120.0
"""Seconds that an API server may take until it serves again."""

WATCHDOG_S = 300.0
"""Seconds for the watchdog of an API server and the restart together."""


START_S = 120.0
"""Seconds within which an API server starts; the command that starts it allows more."""


@contextmanager
def leader_killed(environment: DrillEnvironment) -> Iterator[str]:
    """Kill the leader of the main etcd cluster; systemd starts it again."""
    members = environment.machines("etcd")
    machine = leader(environment, members)
    kill(environment, machine, ETCD)
    yield machine


@contextmanager
def follower_killed(environment: DrillEnvironment) -> Iterator[str]:
    """Kill a follower of the main etcd cluster; systemd starts it again."""
    members = environment.machines("etcd")
    machine = follower(environment, members)
    kill(environment, machine, ETCD)
    yield machine


@contextmanager
def leader_paused(environment: DrillEnvironment) -> Iterator[str]:
    """Pause the leader of the main etcd cluster, like a machine that its host suspends."""
    members = environment.machines("etcd")
    machine = leader(environment, members)
    with _paused(environment, machine, ETCD):
        await_successor(environment, members, of=machine)
        yield machine


@contextmanager
def server_killed(environment: DrillEnvironment) -> Iterator[str]:
    """Kill the first API server; systemd starts it again."""
    machine = environment.machines("api")[0]
    kill(environment, machine, KUBE_APISERVER)
    yield machine


@contextmanager
def servers_killed_in_turn(environment: DrillEnvironment) -> Iterator[str]:
    """Kill each API server once the previous one is back behind the load balancer."""
    machines = environment.machines("api")
    for machine in machines:
        kill(environment, machine, KUBE_APISERVER)
        await_effect(partial(_serves, environment, machine), what=f"{machine} serves again", within_s=BACK_S)
    yield ", ".join(machines)


def _serves(environment: DrillEnvironment, machine: str) -> bool:
    """Return whether an API server is ready, and is a healthy backend in each rule of the load balancer."""
    environment.output(machine, "longhaul-node", "ready")
    rules = environment.lab_status()["load_balancers"].values()
    return all(backends.get(environment.address(machine)) for backends in rules)


@contextmanager
def server_hung(environment: DrillEnvironment) -> Iterator[str]:
    """Pause the first API server: it accepts connections but answers no request."""
    machine = environment.machines("api")[0]
    with _paused(environment, machine, KUBE_APISERVER):
        yield machine


@contextmanager
def server_hung_for_good(environment: DrillEnvironment) -> Iterator[str]:
    """Pause the first API server until its watchdog has killed it."""
    machine = environment.machines("api")[0]
    hung = _process(environment, machine, KUBE_APISERVER)
    _signal(environment, machine, KUBE_APISERVER, "STOP")
    yield machine
    await_effect(
        lambda: _process(environment, machine, KUBE_APISERVER) not in ("0", hung),
        what=f"{KUBE_APISERVER} was started again",
        within_s=WATCHDOG_S,
    )


@contextmanager
def server_killed_without_events(environment: DrillEnvironment) -> Iterator[str]:
    """Kill the first API server while the events etcd cluster is stopped, and wait until the server serves again
    without that cluster."""
    machine = environment.machines("api")[0]
    with events_stopped(environment) as events:
        kill(environment, machine, KUBE_APISERVER)
        await_effect(
            lambda: environment.output(machine, "systemctl", "is-active", KUBE_APISERVER).strip() == "active",
            what=f"{KUBE_APISERVER} serves again",
            within_s=START_S,
        )
        yield f"{machine}, without {events}"


@contextmanager
def events_stopped(environment: DrillEnvironment) -> Iterator[str]:
    """Stop all members of the events etcd cluster."""
    machines = environment.machines("events")
    for machine in machines:
        environment.output(machine, "systemctl", "stop", ETCD)
    try:
        await_effect(lambda: not any(answers(environment, member) for member in machines), what="no member answers")
        yield ", ".join(machines)
    finally:
        for machine in machines:
            environment.output(machine, "systemctl", "start", "--no-block", ETCD)


def kill(environment: DrillEnvironment, machine: str, unit: str) -> None:
    """Kill a unit's main process, and return when it is gone."""
    before = _process(environment, machine, unit)
    _signal(environment, machine, unit, "KILL")
    await_effect(lambda: _process(environment, machine, unit) != before, what=f"{unit} on {machine} was killed")


@contextmanager
def _paused(environment: DrillEnvironment, machine: str, unit: str) -> Iterator[None]:
    process = _process(environment, machine, unit)
    _signal(environment, machine, unit, "STOP")
    try:
        stopped = "State:\tT (stopped)"
        await_effect(
            lambda: stopped in environment.output(machine, "cat", f"/proc/{process}/status"),
            what=f"{unit} stands still",
        )
        yield
    finally:
        _signal(environment, machine, unit, "CONT")


def _process(environment: DrillEnvironment, machine: str, unit: str) -> str:
    """Return the PID of a unit's main process, 0 when it has none."""
    return environment.output(machine, "systemctl", "show", "--property=MainPID", "--value", unit).strip()


def _signal(environment: DrillEnvironment, machine: str, unit: str, name: str) -> None:
    environment.output(machine, "systemctl", "kill", "--kill-whom=main", f"--signal={name}", unit)


DRILLS: tuple[Drill, ...] = (
    Drill(
        name="follower-killed",
        summary="kill -9 of a follower of the main etcd cluster",
        goal_s=1.0,
        fault=follower_killed,
    ),
    Drill(
        name="leader-killed",
        summary="kill -9 of the leader of the main etcd cluster",
        goal_s=5.0,
        fault=leader_killed,
    ),
    Drill(
        name="leader-paused",
        summary="the leader of the main etcd cluster stands still",
        goal_s=5.0,
        fault=leader_paused,
        lasts_s=15.0,
    ),
    Drill(
        name="events-stopped",
        summary="all members of the events etcd cluster are stopped",
        goal_s=1.0,
        fault=events_stopped,
        lasts_s=20.0,
    ),
    Drill(
        name="server-killed",
        summary="kill -9 of an API server",
        goal_s=5.0,
        fault=server_killed,
        calm_s=5.0,
    ),
    Drill(
        name="servers-killed-in-turn",
        summary="kill -9 of each API server, one after the other",
        goal_s=5.0,
        fault=servers_killed_in_turn,
        calm_s=5.0,
    ),
    Drill(
        name="server-killed-without-events",
        summary="kill -9 of an API server while the events etcd is away",
        goal_s=5.0,
        fault=server_killed_without_events,
    ),
    Drill(
        name="server-hung",
        summary="an API server accepts connections and answers none",
        goal_s=5.0,
        fault=server_hung,
        lasts_s=20.0,
    ),
    Drill(
        name="server-hung-for-good",
        summary="an API server answers none until its watchdog kills it and systemd starts it again",
        goal_s=10.0,
        fault=server_hung_for_good,
    ),
)
