"""Settings that follow the declared size: which nodes count, each class, etcd's times, and an API server's needs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from components.model import Environment, load
from components.model.autoscaler.section import Autoscaler
from components.model.control_plane.size import (
    RAFT_DEFAULTS,
    SIZES,
    RaftTimes,
    api_arguments,
    declared_nodes,
    least_memory_gib,
    least_servers,
    most_nodes,
    raft_times,
    size_of,
)
from longhaul.init.sizes import SIZES as PROPOSED
from tests.support.hosts import stack_file

LARGEST = (
    "--max-requests-inflight=3000",
    "--max-mutating-requests-inflight=1000",
    "--event-ttl=30m",
)


def lab(**changes: object) -> Environment:
    return load(stack_file("lab")).model_copy(update=changes)


def test_the_declared_nodes_are_max_nodes_or_what_pools_and_hosts_promise() -> None:
    environment = lab()
    hosts = len(environment.hosts)
    assert declared_nodes(environment) == environment.pools["cpu"].max + hosts
    assert declared_nodes(lab(max_nodes=5_000)) == 5_000
    assert declared_nodes(load(stack_file("prod"))) == 1_210


def test_there_are_never_more_nodes_than_max_nodes() -> None:
    promised = most_nodes(lab())
    assert (promised, most_nodes(lab(max_nodes=5_000))) == (declared_nodes(lab()), promised)
    fewer = lab(max_nodes=promised - 1)
    assert most_nodes(fewer) == promised, "one that only looks keeps within nothing"
    assert most_nodes(fewer.model_copy(update={"autoscaler": Autoscaler()})) == promised - 1


@pytest.mark.parametrize(
    ("nodes", "arguments"),
    [
        (1, ()),
        (500, ()),
        (501, ("--max-requests-inflight=1500", "--max-mutating-requests-inflight=500")),
        (3_000, ("--max-requests-inflight=1500", "--max-mutating-requests-inflight=500")),
        (3_001, LARGEST),
        (100_000, LARGEST),
    ],
)
def test_arguments_of_a_class_are_those_that_are_no_defaults(nodes: int, arguments: tuple[str, ...]) -> None:
    assert api_arguments(lab(max_nodes=nodes)) == arguments


def test_classes_rise_and_the_last_has_no_end() -> None:
    assert SIZES[-1].nodes is None
    for smaller, larger in pairwise(SIZES):
        assert smaller.nodes
        assert larger.nodes is None or smaller.nodes < larger.nodes
        assert smaller.requests < larger.requests
        assert smaller.mutating < larger.mutating
        assert smaller.event_minutes >= larger.event_minutes
        assert smaller.event_burst < larger.event_burst
        assert size_of(smaller.nodes + 1) is larger


@pytest.mark.parametrize(
    ("round_trip_ms", "times"),
    [
        (0.1, RAFT_DEFAULTS),
        (2, RAFT_DEFAULTS),
        (66, RAFT_DEFAULTS),
        (67, RaftTimes(heartbeat_ms=101, election_ms=1_010)),
        (500, RaftTimes(heartbeat_ms=750, election_ms=7_500)),
    ],
)
def test_etcd_waits_for_the_longest_round_trip(round_trip_ms: float, times: RaftTimes) -> None:
    """etcd 3.6.8, embed/config.go: at least five heartbeats, at most 50 s."""
    assert raft_times(round_trip_ms) == times
    assert 5 * times.heartbeat_ms <= times.election_ms <= 50_000


@pytest.mark.parametrize(("size", "nodes"), [("trial", 500), ("standard", 1_500), ("large", 6_000)])
def test_what_init_proposes_is_enough_for_the_nodes_that_the_page_names(size: str, nodes: int, root: Path) -> None:
    proposed = PROPOSED[size]
    assert lab().machine_type(proposed.api_type).memory_gib >= least_memory_gib(nodes)
    assert proposed.servers >= least_servers(nodes)
    if size != "trial":
        assert f"| {nodes:,} | `{size}` |" in (root / "docs" / "sizing.md").read_text(encoding="utf-8")
