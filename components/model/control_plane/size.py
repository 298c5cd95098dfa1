"""Settings of the control plane that follow the environment's declared size and round trips; docs/sizing.md shows them.

A class changes what API servers start with, so going from one to the next makes them anew, one at a time. Hence few
classes; and the smallest is Kubernetes' own defaults, which are not written.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from components.model.environment import Environment

MIB_PER_NODE = 10
"""Memory of one API server for each node, in MiB. 70 GB at 7,500 nodes, linear in nodes ("Scaling Kubernetes to 7,500
nodes"). Every API server caches the whole cluster, so more of them need no less."""

USED = Fraction(60, 100)
"""Share of the memory that is used when all is well; the rest is for when another server is away (OpenShift, "Control
plane node sizing")."""

BASE_GIB = 2
"""Memory of the system itself, in GiB: what kubeadm asks of a machine (kubernetes.io, "Installing kubeadm")."""

NODES_PER_SERVER = 1_500
"""Number of nodes for each API server: five for 7,500 (the same article)."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """A class of environments by their number of nodes."""

    nodes: int | None
    """The most nodes; None when there is no limit."""
    requests: int
    """``--max-requests-inflight``. With the next it is the number of seats that priority levels share, of each server
    (kubernetes 1.36, apiserver/pkg/server/options/server_run_options.go)."""
    mutating: int
    """``--max-mutating-requests-inflight``."""
    event_minutes: int
    """``--event-ttl``, in minutes."""
    event_burst: int
    """Number of events that one namespace may make at once, at each server: five for each pod of a job that has one on
    every node (scheduled, pulling, pulled, created, started)."""


SIZES = (
    Size(nodes=500, requests=400, mutating=200, event_minutes=60, event_burst=2_500),
    Size(nodes=3_000, requests=1_500, mutating=500, event_minutes=60, event_burst=15_000),
    Size(nodes=None, requests=3_000, mutating=1_000, event_minutes=30, event_burst=37_500),
)
"""Classes, the smallest first. Its values are kube-apiserver's defaults.

Limits of requests and the bounds between classes are those with which Kubernetes tests itself at scale (kubernetes
1.36, cluster/gce/gci/configure-kubeapiserver.sh). The time of events is arithmetic: with the five minutes until
expired ones are compacted, a store of 8 GiB holds an hour of 2,100 events a second, of 1 KiB each, or half an hour of
4,000.

The watch cache is in no class: it sizes itself, and its flags set no size any more (kubernetes 1.36,
apiserver/pkg/server/options/etcd.go).
"""


@dataclass(frozen=True, kw_only=True)
class RaftTimes:
    """Times of an etcd cluster, in milliseconds."""

    heartbeat_ms: int
    election_ms: int


RAFT_DEFAULTS = RaftTimes(heartbeat_ms=100, election_ms=1_000)
"""etcd's defaults (etcd 3.6.8, server/embed/config.go), the least that is set: below them a stalled disk would cost
elections."""


def declared_nodes(environment: Environment) -> int:
    """Return the most nodes that the environment may have: its ``max_nodes``, else all pools' maxima and the hosts."""
    return environment.max_nodes or promised_nodes(environment)


def promised_nodes(environment: Environment) -> int:
    """Return the number of nodes of all pools' maxima and the hosts."""
    return sum(pool.max for pool in environment.pools.values()) + len(environment.hosts)


def most_nodes(environment: Environment) -> int:
    """Return the most nodes that there are at once: those of all pools' maxima and the hosts, or ``max_nodes`` where
    an autoscaler that acts keeps within fewer."""
    promised = promised_nodes(environment)
    return min(promised, environment.max_nodes or promised) if environment.scales else promised


def size_of(nodes: int) -> Size:
    """Return the class of so many nodes."""
    return next(size for size in SIZES if size.nodes is None or nodes <= size.nodes)


def api_arguments(environment: Environment) -> tuple[str, ...]:
    """Return kube-apiserver's arguments that follow the size: those that differ from its defaults."""
    size, default = size_of(declared_nodes(environment)), SIZES[0]
    values = (
        ("max-requests-inflight", size.requests, default.requests),
        ("max-mutating-requests-inflight", size.mutating, default.mutating),
        ("event-ttl", f"{size.event_minutes}m", f"{default.event_minutes}m"),
    )
    return tuple(f"--{flag}={value}" for flag, value, usual in values if value != usual)


def raft_times(round_trip_ms: float) -> RaftTimes:
    """Return the times of etcd clusters whose members are so far apart. etcd advises a heartbeat of 0.5 to 1.5 round
    trips, and ten round trips or more for an election (etcd.io, "Tuning"); it refuses elections of less than five
    heartbeats."""
    heartbeat = max(RAFT_DEFAULTS.heartbeat_ms, ceil(round_trip_ms * 1.5))
    return RaftTimes(heartbeat_ms=heartbeat, election_ms=10 * heartbeat)


def least_memory_gib(nodes: int) -> int:
    """Return the least memory of an API server's machine, in GiB."""
    return ceil(BASE_GIB + Fraction(nodes * MIB_PER_NODE, 1024) / USED)


def least_servers(nodes: int) -> int:
    """Return the least number of API servers. One more survives the loss of one."""
    return max(1, ceil(nodes / NODES_PER_SERVER))
