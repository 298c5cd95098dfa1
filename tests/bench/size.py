"""Benchmark of the autoscaler at the largest size: 20,000 pods made at once, the load that it adds at 7,500 nodes, and
the way back when the pods are deleted. What must never happen ends it with an error.

The API server, etcd and the controllers are real; kwok is the kubelets of nodes without machines
(tests/bench/kwok.yaml), a thread the scheduler (tests/bench/seats.py). The autoscaler runs in a process of its own,
over groups in memory whose machines come and go at once (tests/bench/standing.py). Idle minutes are passed over by its
clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from components.model import Environment
from lab import tools
from tests.bench.crowd import (
    KIND,
    NODES_OF_UNIT,
    STANDING,
    UNIT,
    Cluster,
    in_a_process,
    make_gangs,
    make_pods,
)
from tests.bench.load import Load
from tests.bench.standing import Served, serving
from tests.model import make
from tests.support.api_server import ApiServer, api_server

TOOLS = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kwok"]
TEAM = "team"
REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-west-1", "ap-northeast-1")
STAGES = Path(__file__).parent / "kwok.yaml"
LEASE_S = 480
"""Duration of nodes' leases, seconds. They are renewed every 120, a kubelet's every 10: all is on one machine.
A slow one renews 7,500 leases every 30 s too late."""
IDLE_S, SETTLE_S = 660.0, 61.0
"""Time by which the autoscaler's clock is set forward once the pods are gone, seconds: more than a node must idle; and
while nodes are cordoned: more than it waits until it ends one."""
QUIET_S = 15.0
"""Time without a call to a cloud after which nothing more is expected, seconds: longer than between two passes."""
MOST_S = 1200.0
"""Time limit of one step, seconds."""
ROUNDS = 60
"""Largest number of times that the clock is set forward."""
BETWEEN_S = 0.5
"""Time between two looks at what is awaited, seconds."""
API_SERVER = (
    "--max-requests-inflight=2000",
    "--max-mutating-requests-inflight=1000",
    "--delete-collection-workers=4",
)
CONTROLLERS = ("--kube-api-qps=300", "--kube-api-burst=600", "--node-monitor-grace-period=600s")
"""New nodes have a taint until a controller takes it; by default it may ask 20 times a second. A node is silent once it
has missed five leases, as by default."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """Size of the benchmark."""

    pools: int = 60
    standing: int = 2_460
    """Nodes that are full before, and stay so, in all pools alike."""
    idle: int = 40
    """Nodes of the first pool that are empty before and after: with the full ones, they are its ``min``."""
    pods: int = 20_000

    @property
    def added(self) -> int:
        """Number of machines that the pods need."""
        return self.pods // len(UNIT) * NODES_OF_UNIT - self.idle

    @property
    def grown(self) -> int:
        """Number of nodes once every pod has its place."""
        return self.standing + self.idle + self.added

    @property
    def least(self) -> int:
        """``min`` of the first pool."""
        return self.standing // self.pools + self.idle


def measure(folder: Path, size: Size | None = None) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    wanted = size or Size()
    binaries = tools.ensure(TOOLS, log_dir=folder, progress=lambda _line: None)
    (folder / "size").mkdir()
    services = IPv4Network("10.80.0.0/17")
    with api_server(folder / "size", tools=binaries, services=services, arguments=API_SERVER) as server:
        _prepare(server, wanted)
        cluster = Cluster(server, TEAM)
        try:
            yield from _measured(cluster, wanted)
        finally:
            cluster.close()


def _prepare(server: ApiServer, size: Size) -> None:
    server.start_controllers(*CONTROLLERS)
    server.define(KIND)
    for namespace in (TEAM, STANDING):
        server.open_namespace(namespace)
    server.start_kwok(STAGES, lease_s=LEASE_S)
    make_gangs(server, TEAM, size.pods)


def _measured(cluster: Cluster, size: Size) -> Iterator[tuple[str, float]]:
    server = cluster.server
    pools = [f"p{number:02}" for number in range(size.pools)]
    full = [f"{pool}-{index}" for pool in pools for index in range(size.standing // size.pools)]
    empty = [f"{pools[0]}-{index}" for index in range(size.standing // size.pools, size.least)]
    cluster.begin(full, empty)
    wait(cluster, cluster.runs)
    declared = environment(size, pools)
    with serving(declared, server, cluster.by_pool(pools), cluster.told) as served:
        yield from _grow(cluster, served, size)
    without = Load.over(server)
    with serving(declared, server, cluster.by_pool(pools), cluster.told) as served:
        settle(cluster)
        name, span = f"at {size.grown:,} quiet nodes", Span(served)
        yield from Load.over(server, served.pid).beside(without, name)
        _check_quiet(cluster)
        yield from span.figures(name)
        yield from _shrink(cluster, served, size)


def _check_quiet(cluster: Cluster) -> None:
    """Raise when nodes are silent: each that becomes so, and each that comes back, rightly makes a decision due."""
    if silent := cluster.silent():
        raise RuntimeError(
            f"{silent} of {len(cluster.there)} nodes are silent, since this computer does not renew their leases in "
            "time: it is too slow, or busy, for this benchmark"
        )


def environment(size: Size, pools: list[str]) -> Environment:
    """Return an environment of AWS sites whose pools have room for a tenth more nodes than are needed."""
    raw = make.minimal()
    raw |= {"supernet": "10.0.0.0/8", "max_nodes": 2 * size.grown, "autoscaler": {"joining": 7_500}}
    sites = {f"aws-{region}": {**make.AWS, "region": region, "prefix": 13} for region in REGIONS}
    raw["sites"] |= sites
    most = 11 * size.grown // (10 * size.pools)
    raw["pools"] = {
        name: {"site": [*sites][index % len(sites)], "machine_type": "p5.48xlarge", "max": most}
        for index, name in enumerate(pools)
    }
    raw["pools"][pools[0]]["min"] = size.least
    return make.environment(raw)


def settle(cluster: Cluster) -> None:
    """Wait until no cloud has been asked for a while."""
    before = -1
    while before != len(cluster.calls):
        before = len(cluster.calls)
        time.sleep(QUIET_S)
    cluster.check()


def _grow(cluster: Cluster, served: Served, size: Size) -> Iterator[tuple[str, float]]:
    """Make all pods at once, and wait until every one runs on a node."""
    settle(cluster)
    span = Span(served)
    began = time.monotonic()
    maker = in_a_process(make_pods, cluster.server, TEAM, size.pods, cluster.waiting)
    try:
        wait(cluster, lambda: cluster.asked >= size.added)
        name = f"{size.pods:,} pods at once"
        yield f"{name}: until {size.added:,} machines are asked for, s", cluster.calls[-1].at - began
        yield f"{name}: calls to clouds for that", len(cluster.calls)
        yield f"{name}: groups that were asked", len({call.group for call in cluster.calls})
    finally:
        maker.join()
    yield f"{name}: until all were made, s", time.monotonic() - began
    wait(cluster, lambda: cluster.bound == size.pods and cluster.runs())
    yield f"{name}: until all run, s", time.monotonic() - began
    settle(cluster)
    yield f"{name}: machines asked for beyond need", cluster.asked - size.added
    yield f"{name}: machines ended meanwhile", cluster.ended
    yield from span.figures(name)


def _shrink(cluster: Cluster, served: Served, size: Size) -> Iterator[tuple[str, float]]:
    """Delete the pods, and wait until every machine that idles is ended."""
    calls, asked = len(cluster.calls), cluster.asked
    extra = len(cluster.there) - size.standing - size.idle
    span = Span(served)
    began = time.monotonic()
    cluster.delete_all()
    name = f"{extra:,} idle machines"
    yield f"{name}: until their pods were deleted, s", time.monotonic() - began
    pass_by(cluster, served)
    began = time.monotonic()
    served.shared.ahead_s.value = IDLE_S
    rounds = 0
    while cluster.ended < extra:
        pass_by(cluster, served)
        served.shared.ahead_s.value += SETTLE_S
        rounds += 1
        if rounds > ROUNDS:
            raise TimeoutError(f"{cluster.ended} of {extra} machines are ended after {rounds} rounds")
    took = cluster.calls[-1].at - began
    yield f"{name}: after their ten idle minutes, until all are ended, s", took
    yield f"{name}: the same by the autoscaler's clock, min", (took + rounds * SETTLE_S) / 60
    yield f"{name}: calls to clouds for that", len(cluster.calls) - calls
    settle(cluster)
    yield f"{name}: ended that had work, or below a pool's min", _wrongly(cluster, size)
    yield f"{name}: machines asked for meanwhile", cluster.asked - asked
    yield from span.figures(name)


def pass_by(cluster: Cluster, served: Served) -> None:
    """Wait until a pass has begun after now, and has ended."""
    passes = served.metrics()["passes_total"]
    wait(cluster, lambda: served.metrics()["passes_total"] > passes + 1)


def _wrongly(cluster: Cluster, size: Size) -> int:
    """Return 0, or raise: every pod that stays is on its node, and the first pool has its ``min``."""
    cluster.check()
    cluster.stands(size.standing)
    left = sum(len(names) for names in cluster.by_pool(["p00"]).values())
    if left != size.least or len(cluster.there) != size.standing + size.idle:
        raise RuntimeError(f"{left} nodes are left in p00, whose min is {size.least}; {len(cluster.there)} in all")
    return len(cluster.wrong)


class Span:
    """Passes of an autoscaler from here on."""

    def __init__(self, served: Served) -> None:
        self._served, self._before, self._looks = served, served.metrics(), served.shared.looks.value
        served.shared.longest_s.value = 0.0

    def figures(self, name: str) -> Iterator[tuple[str, float]]:
        """Yield what they took."""
        after, shared = self._served.metrics(), self._served.shared
        count, took, failed = (
            after.get(one, 0.0) - self._before.get(one, 0.0)
            for one in ("passes_total", "pass_seconds_total", "passes_failed_total")
        )
        yield f"{name}: passes meanwhile", count
        yield f"{name}: failed passes", failed
        yield f"{name}: one pass on average, ms", 1000 * took / count
        yield f"{name}: longest pass, ms", 1000 * shared.longest_s.value
        yield f"{name}: looks at groups", shared.looks.value - self._looks
        yield f"{name}: autoscaler's peak memory, MiB (goal: 1,024)", after["peak_mib"]


def wait(cluster: Cluster, true: Callable[[], bool]) -> None:
    """Wait for something that takes long."""
    deadline = time.monotonic() + MOST_S
    while not true():
        cluster.check()
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"not so within {MOST_S:g} s: {cluster.asked} asked for, {cluster.bound} bound, {cluster.ended} ended"
            )
        time.sleep(BETWEEN_S)
