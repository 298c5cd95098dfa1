"""The autoscaler's service on a real API server: it follows changes, leads and is followed."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from components.model.prices.book import PriceBook
from contract.kubernetes.election import Candidate
from contract.kubernetes.lease import LEASES
from services.autoscaler.decision_memory import MEMORY
from services.autoscaler.leader_loop import ProcessSettings, serve
from services.autoscaler.metrics import METRICS
from services.metrics import ServiceMetrics, metrics_server
from tests.services.autoscaler.acting_cluster import (
    World,
)
from tests.support.api_server import eventually
from tests.support.ports import free_ports

pytestmark = pytest.mark.engine


@contextmanager
def service(
    world: World, instance: str, *, port: int | None = None, act: bool = True, timeout_s: float = 30.0
) -> Iterator[list[str]]:
    """Run the service in a thread; yield its lines."""
    stop, lines, metrics = threading.Event(), list[str](), ServiceMetrics(METRICS)
    run = ProcessSettings(instance=instance, act=act, elected=act, as_json=True)
    thread = threading.Thread(
        target=serve,
        args=(world.environment, world.api(timeout_s=timeout_s), PriceBook()),
        kwargs={"stop": stop, "run": run, "write": lines.append, "metrics": metrics},
    )
    with nullcontext() if port is None else metrics_server(metrics, port=port):
        thread.start()
        try:
            yield lines
        finally:
            stop.set()
            thread.join()


def test_the_service_acts_when_something_changes_and_another_follows_it(world: World) -> None:
    (port,) = free_ports(1)
    with service(world, "second") as others:
        eventually(lambda: others, what="it leads")
        with service(world, "first", port=port) as lines:
            world.pods(1)
            eventually(lambda: world.calls == ["h100 size 1"], what="a machine is asked for")
            assert [json.loads(line)["size"] for line in others if json.loads(line).get("action") == "grow"] == [1, 1]
            assert metrics_of(port)["longhaul_autoscaler_leader"] == "0"
            assert lines == []
            lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/longhaul-autoscaler"
            assert world.admin.get(lease)["spec"]["holderIdentity"] == "longhaul-autoscaler/second"
    with service(world, "third", port=port) as lines:
        eventually(lambda: lines, what="a lease that was given back is taken at once")
        assert json.loads(lines[0])["message"] == "leading as third"
        eventually(lambda: float(metrics_of(port).get("longhaul_autoscaler_passes_total", "0")), what="it looks")
        assert metrics_of(port)["longhaul_autoscaler_leader"] == "1"
    assert world.calls == ["h100 size 1"], "another process asks for nothing again"


def test_a_dry_run_looks_and_changes_nothing(world: World) -> None:
    world.pods(1)
    with service(world, "looks", act=False) as lines:
        found = eventually(
            lambda: [one for one in map(json.loads, lines) if one.get("action") == "grow"], what="it looks"
        )
    assert (found[0]["target"], found[0]["size"]) == ("prod-h100", 1)
    assert (world.calls, world.admin.find(MEMORY)) == ([], None)


def test_api_servers_that_went_away_and_came_back_are_followed_again(world: World) -> None:
    with service(world, "stays", timeout_s=3.0) as lines:
        eventually(lambda: lines, what="it leads")
        world.server.pause()
        try:
            eventually(lambda: any("no longer leading" in line for line in lines), what="it stops by its own clock")
        finally:
            world.server.resume()
        world.pods(1)
        eventually(lambda: world.calls == ["h100 size 1"], what="it leads again, and acts")


def metrics_of(port: int) -> dict[str, str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    return dict(line.split(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def test_a_silent_leader_is_followed_when_its_time_is_over(world: World) -> None:
    spec = {"holderIdentity": "silent", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"}
    metadata = {"name": "test-election", "namespace": "kube-system"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    world.admin.post(LEASES, {**lease, "spec": spec})
    ticks = iter((0.0, *range(0, 1000, 6)))
    candidate = Candidate(world.admin, "test-election", identity="next", clock=lambda: float(next(ticks)))
    with candidate.leading(threading.Event()) as leads:
        assert leads is not None
        assert leads()
        assert next(ticks) >= 15, "its clock counts, and not the time that the silent one wrote"
        taken = world.admin.get(f"{LEASES}/test-election")
        assert taken["spec"]["holderIdentity"] == "next"
        world.admin.patch(f"{LEASES}/test-election", {"spec": {"holderIdentity": "thief"}})
        eventually(lambda: not leads(), what="a leader notices that another one leads")
