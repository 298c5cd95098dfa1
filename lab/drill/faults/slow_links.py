"""Faults of a member's link: the link loses packets, or has little bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lab.drill.drill import Drill
from lab.drill.environment import DrillEnvironment
from lab.drill.faults.partitions import TABLE
from lab.drill.members import follower, leader

LINK = "eth0"
LOST = 30
"""Share of packets that are lost, percent, in each direction."""
NARROW = ("rate", "1mbit", "burst", "32kbit", "latency", "400ms")
"""Parameters of a token bucket filter (tc-tbf(8))."""


@contextmanager
def leader_loses_packets(environment: DrillEnvironment) -> Iterator[str]:
    """Drop packets to and from the leader of the main etcd cluster, at random."""
    machine = leader(environment, environment.machines("etcd"))
    environment.output(machine, "nft", f"add table {TABLE}")
    try:
        for hook in ("input", "output"):
            side = "iif" if hook == "input" else "oif"
            chain = f"{TABLE} {hook} {{ type filter hook {hook} priority -300; }}"
            rule = f"{TABLE} {hook} {side} != lo numgen random mod 100 < {LOST} drop"
            environment.output(machine, "nft", f"add chain {chain}; add rule {rule}")
        yield machine
    finally:
        environment.output(machine, "nft", f"delete table {TABLE}")


@contextmanager
def follower_narrow(environment: DrillEnvironment) -> Iterator[str]:
    """Limit the outgoing traffic of a follower of the main etcd cluster to 1 Mbit/s."""
    machine = follower(environment, environment.machines("etcd"))
    with _narrow(environment, machine):
        yield machine


@contextmanager
def leader_narrow(environment: DrillEnvironment) -> Iterator[str]:
    """Limit the outgoing traffic of the leader of the main etcd cluster to 1 Mbit/s."""
    machine = leader(environment, environment.machines("etcd"))
    with _narrow(environment, machine):
        yield machine


@contextmanager
def _narrow(environment: DrillEnvironment, machine: str) -> Iterator[None]:
    environment.output(machine, "tc", "qdisc", "replace", "dev", LINK, "root", "tbf", *NARROW)
    try:
        yield
    finally:
        environment.output(machine, "tc", "qdisc", "delete", "dev", LINK, "root")


DRILLS: tuple[Drill, ...] = (
    Drill(
        name="leader-loses-packets",
        summary=f"{LOST}% of the packets to and from the leader of the main etcd cluster are lost",
        goal_s=10.0,
        fault=leader_loses_packets,
        lasts_s=20.0,
        elections=5,
    ),
    Drill(
        name="follower-link-narrow",
        summary="a follower of the main etcd cluster sends 1 Mbit/s at most",
        goal_s=10.0,
        fault=follower_narrow,
        lasts_s=20.0,
        elections=1,
    ),
    Drill(
        name="leader-link-narrow",
        summary="the leader of the main etcd cluster sends 1 Mbit/s at most",
        goal_s=10.0,
        fault=leader_narrow,
        lasts_s=20.0,
        elections=5,
    ),
)
