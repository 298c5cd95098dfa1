"""Settings of the control plane that follow the environment's declared size and round trips; docs/sizing.md shows them.

A change of the class replaces the API servers, one at a time, because it changes their start arguments. Hence there are
few classes; the smallest has Kubernetes' own defaults, which are not written as arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from components.model.environment import Environment

MIB_PER_NODE = 10
"""Memory of one API server for each node, in MiB. 70 GB at 7,500 nodes, linear in nodes ("Scaling Kubernetes to 7,500
nodes"). Every API server caches the whole cluster, so more API servers do not need less memory each."""

USED = Fraction(60, 100)
"""Share of the memory that is used in normal operation; the rest is for when another server is away (OpenShift,
"Control plane node sizing")."""

BASE_GIB = 2
"""Memory of the system itself, in GiB: kubeadm's minimum for a machine (kubernetes.io, "Installing kubeadm")."""

NODES_PER_SERVER = 1_500
"""Number of nodes for each API server: five servers for 7,500 nodes (the same article)."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """A class of environments by their number of nodes."""

    nodes: int | None
    """Largest number of nodes; None for no limit."""
    requests: int
    """``--max-requests-inflight``. This limit and ``mutating`` add up to the number of seats on each server, which
    priority levels share (kubernetes 1.36, apiserver/pkg/server/options/server_run_options.go)."""
    mutating: int
    """``--max-mutating-requests-inflight``."""
    event_minutes: int
    """``--event-ttl``, in minutes."""
    event_burst: int
    """Number of events that one namespace may make at once, on each server: five for each pod of a job with one pod on
    every node (scheduled, pulling, pulled, created, started)."""


SIZES = (
    Size(nodes=500, requests=400, mutating=200, event_minutes=60, event_burst=2_500),
    Size(nodes=3_000, requests=1_500, mutating=500, event_minutes=60, event_burst=15_000),
    Size(nodes=None, requests=3_000, mutating=1_000, event_minutes=30, event_burst=37_500),
)
"""Classes, the smallest first; the smallest has kube-apiserver's defaults.

Limits of requests and the bounds between classes are those with which Kubernetes tests itself at scale (kubernetes
1.36, cluster/gce/gci/configure-kubeapiserver.sh). The lifetime of events is computed: events of 1 KiB each, at 2,100 a
second for an hour or 4,000 a second for half an hour, and for the five minutes until expired events are compacted, fill
a store of 8 GiB.

No class sets the watch cache: it sizes itself, and its flags no longer set a size (kubernetes 1.36,
apiserver/pkg/server/options/etcd.go).
"""


@dataclass(frozen=True, kw_only=True)
class RaftTimes:
    """Times of an etcd cluster, in milliseconds."""

    heartbeat_ms: int
    election_ms: int


RAFT_DEFAULTS = RaftTimes(heartbeat_ms=100, election_ms=1_000)
"""etcd's defaults (etcd 3.6.8, server/embed/config.go). They are also the minimum here: with less, a stalled disk would
cause elections."""


def declared_nodes(environment: Environment) -> int:
    """Return the largest number of nodes that the environment may have: its ``max_nodes``, or else the sum of all
    pools' maxima and the hosts."""
    return environment.max_nodes or promised_nodes(environment)


def promised_nodes(environment: Environment) -> int:
    """Return the sum of all pools' maxima and the hosts."""
    return sum(pool.max for pool in environment.pools.values()) + len(environment.hosts)


def most_nodes(environment: Environment) -> int:
    """Return the largest number of nodes at once: the sum of all pools' maxima and the hosts. If an autoscaler acts,
    the number is at most ``max_nodes``."""
    promised = promised_nodes(environment)
    return min(promised, environment.max_nodes or promised) if environment.scales else promised


def size_of(nodes: int) -> Size:
    """Return the class for this number of nodes."""
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
    """Return the times of etcd clusters whose members have this round trip. etcd advises a heartbeat of 0.5 to 1.5
    round trips, and ten round trips or more for an election (etcd.io, "Tuning"); it refuses election times of less than
    five heartbeats."""
    heartbeat = max(RAFT_DEFAULTS.heartbeat_ms, ceil(round_trip_ms * 1.5))
    return RaftTimes(heartbeat_ms=heartbeat, election_ms=10 * heartbeat)


def least_memory_gib(nodes: int) -> int:
    """Return the required memory of an API server's machine, in GiB."""
    return ceil(BASE_GIB + Fraction(nodes * MIB_PER_NODE, 1024) / USED)


def least_servers(nodes: int) -> int:
    """Return the number of API servers that are needed. One more allows for the loss of one."""
    return max(1, ceil(nodes / NODES_PER_SERVER))
