"""Benchmark of the autoscaler at the largest size: 20,000 pods made at once, the load that it adds at 7,500 nodes, and
the way back when the pods are deleted.

The API server, etcd and the controllers are real; kwok is the kubelets of nodes without machines. The autoscaler runs
in a process of its own, over groups in memory whose machines come and go at once (tests/bench/standing.py). Idle
minutes are passed over by its clock.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from components.model import Environment
from lab import tools
from tests.bench.standing import Cluster, Served, in_a_process, make_pods, serving
from tests.model import make
from tests.support.api_server import ApiServer, api_server

TOOLS = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl", "kwok"]
TEAM = "team"
REGIONS = ("us-east-1", "us-east-2", "us-west-2", "eu-west-1", "ap-northeast-1")
WINDOW_S = 60.0
"""Time over which load is measured, seconds."""
IDLE_S = 660.0
"""Time by which the autoscaler's clock is set forward once the pods are gone, seconds: more than a node must idle."""
QUIET_S = 15.0
"""Time without a call to a cloud after which nothing more is expected, seconds: longer than between two passes."""
MOST_S = 900.0
"""Time limit of one step, seconds."""
SETTLE_S, WAITS_S = 61.0, 5.0
"""Time by which the clock is set forward between the autoscaler's steps, and time without a call after which it waits
for that, seconds."""
SHAPES = 20
"""Number of different pods, by their cores."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Size:
    """Size of the benchmark."""

    pools: int = 60
    standing: int = 2_500
    """Nodes that are full before, and stay so."""
    pods: int = 20_000
    """Pods of two GPUs, four to a node."""

    @property
    def added(self) -> int:
        """Number of nodes that the pods need."""
        return self.pods // 4

    @property
    def grown(self) -> int:
        """Number of nodes once every pod has its place."""
        return self.standing + self.added


def measure(folder: Path, size: Size | None = None) -> Iterator[tuple[str, float]]:
    """Yield the figures by name."""
    wanted = size or Size()
    binaries = tools.ensure(TOOLS, log_dir=folder, progress=lambda _line: None)
    (folder / "size").mkdir()
    services = IPv4Network("10.80.0.0/17")
    limits = ["--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000"]
    with api_server(folder / "size", tools=binaries, services=services, arguments=limits) as server:
        server.start_controllers()
        for namespace in (TEAM, "standing"):
            server.open_namespace(namespace)
        server.start_kwok(Path(__file__).with_name("kwok.yaml"))
        cluster = Cluster(server, TEAM)
        try:
            pools = [f"p{number:02}" for number in range(wanted.pools)]
            standing = {pool: [f"{pool}-{index}" for index in range(wanted.standing // wanted.pools)] for pool in pools}
            cluster.begin(standing)
            declared = environment(wanted, pools)
            with serving(declared, server, standing, cluster.told) as served:
                yield from _grow(cluster, served, wanted)
                with_it = Use.over(served, server)
            yield from with_it.beside(Use.over(None, server), wanted.grown)
            with serving(declared, server, cluster.by_pool(pools), cluster.told) as served:
                yield from _shrink(cluster, served, wanted)
        finally:
            cluster.close()


def environment(size: Size, pools: list[str]) -> Environment:
    """Return an environment of AWS sites whose pools have room for twice as many nodes."""
    raw = make.minimal()
    raw |= {"supernet": "10.0.0.0/8", "max_nodes": 2 * size.grown, "autoscaler": {"joining": 7_500}}
    sites = {f"aws-{region}": {**make.AWS, "region": region, "prefix": 13} for region in REGIONS}
    raw["sites"] |= sites
    most = 2 * size.grown // size.pools
    raw["pools"] = {
        name: {"site": [*sites][index % len(sites)], "machine_type": "p5.48xlarge", "max": most}
        for index, name in enumerate(pools)
    }
    raw["pools"][pools[0]]["min"] = 1
    return make.environment(raw)


def settle(cluster: Cluster) -> None:
    """Wait until no cloud has been asked for a while."""
    before = -1
    while before != len(cluster.calls):
        before = len(cluster.calls)
        time.sleep(QUIET_S)


def _grow(cluster: Cluster, served: Served, size: Size) -> Iterator[tuple[str, float]]:
    """Make all pods at once, and wait until every one is on a node."""
    before = served.metrics()
    began = time.monotonic()
    maker = in_a_process(make_pods, cluster.server, TEAM, size.pods, shapes=SHAPES, waiting=cluster.waiting)
    try:
        wait(lambda: cluster.asked >= size.added)
        yield f"{size.pods:,} pods made at once: until enough machines are asked for, s", cluster.calls[-1].at - began
        yield "calls to clouds for that", len(cluster.calls)
    finally:
        maker.join()
    yield "until all the pods were made, s", time.monotonic() - began
    wait(lambda: cluster.bound == size.pods)
    settle(cluster)
    yield "machines asked for beyond need", cluster.asked - size.added
    yield "machines ended meanwhile", cluster.ended
    yield from _passes(before, served.metrics())


def _shrink(cluster: Cluster, served: Served, size: Size) -> Iterator[tuple[str, float]]:
    """Delete the pods, and wait until every machine that idles is ended."""
    before, calls, there = served.metrics(), len(cluster.calls), {*cluster.there}
    cluster.server.kubectl("delete", "--raw", f"/api/v1/namespaces/{TEAM}/pods?gracePeriodSeconds=0")
    passes = served.metrics()["passes_total"]
    wait(lambda: served.metrics()["passes_total"] > passes + 1)
    began = time.monotonic()
    served.ahead_s.value = IDLE_S
    _pass_the_time(cluster, served, size)
    yield f"{size.added:,} idle machines, once they may go: until all are ended, s", cluster.calls[-1].at - began
    yield "the same by the autoscaler's clock, min", (cluster.calls[-1].at - began + served.ahead_s.value - IDLE_S) / 60
    yield "calls to clouds for that", len(cluster.calls) - calls
    settle(cluster)
    ended = {name for call in cluster.calls for name in call.ended}
    standing = {name for name in there if int(name.partition("-")[2]) < size.standing // size.pools}
    yield "machines ended that had work", len(ended & standing)
    yield "machines asked for meanwhile", sum(len(call.made) for call in cluster.calls[calls:])
    yield from _passes(before, served.metrics())
    yield "peak memory of the autoscaler's process, MiB", served.metrics()["peak_mib"]


def _pass_the_time(cluster: Cluster, served: Served, size: Size) -> None:
    """Set the clock forward whenever the autoscaler waits: it leaves a minute between a cordon and the end."""
    deadline, seen, since = time.monotonic() + MOST_S, len(cluster.calls), time.monotonic()
    while cluster.ended < size.added:
        now = time.monotonic()
        if now > deadline:
            raise TimeoutError(f"{cluster.ended} of {size.added} machines are ended after {MOST_S:g} s")
        if len(cluster.calls) != seen or cluster.ended + len(cluster.there) > size.grown:
            seen, since = len(cluster.calls), now
        elif now - since > WAITS_S:
            served.ahead_s.value += SETTLE_S
            since = now
        time.sleep(0.2)


def _passes(before: dict[str, float], after: dict[str, float]) -> Iterator[tuple[str, float]]:
    count = after["passes_total"] - before["passes_total"]
    yield "passes meanwhile", count
    yield "one pass, on average, ms", 1000 * (after["pass_seconds_total"] - before["pass_seconds_total"]) / count
    yield "failed passes", after.get("passes_failed_total", 0) - before.get("passes_failed_total", 0)


def wait(true: Callable[[], bool]) -> None:
    """Wait for something that takes long."""
    deadline = time.monotonic() + MOST_S
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so within {MOST_S:g} s")
        time.sleep(0.2)


@dataclass(frozen=True, kw_only=True)
class Use:
    """Use of the API server over a window, and of the autoscaler's process, if there is one."""

    api_s: float
    """Processor seconds of the API server."""
    own_s: float
    requests: float

    @classmethod
    def over(cls, served: Served | None, server: ApiServer) -> Use:
        """Measure for :data:`WINDOW_S`."""
        began = _look(served, server)
        time.sleep(WINDOW_S)
        ended = _look(served, server)
        api_s, own_s, requests = (after - before for before, after in zip(began, ended, strict=True))
        return cls(api_s=api_s, own_s=own_s, requests=requests)

    def beside(self, without: Use, nodes: int) -> Iterator[tuple[str, float]]:
        """Yield this use beside that without an autoscaler."""
        where = f"at {nodes:,} quiet nodes"
        yield f"{where}: requests to the API server without it, a second", without.requests / WINDOW_S
        yield f"{where}: with it, a second", self.requests / WINDOW_S
        yield f"{where}: processor of the API server without it, % of a core", 100 * without.api_s / WINDOW_S
        yield f"{where}: with it, % of a core", 100 * self.api_s / WINDOW_S
        yield f"{where}: processor of the autoscaler, % of a core", 100 * self.own_s / WINDOW_S


def _look(served: Served | None, server: ApiServer) -> tuple[float, float, float]:
    text = server.kubectl("get", "--raw", "/metrics")
    requests = sum(float(value) for value in re.findall(r"^apiserver_request_total\{.*\} (\S+)$", text, re.MULTILINE))
    return _cpu_s(server.pid), _cpu_s(served.pid) if served else 0.0, requests


def _cpu_s(pid: int) -> float:
    """Return the processor seconds of a process (proc(5), ``stat``, fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
