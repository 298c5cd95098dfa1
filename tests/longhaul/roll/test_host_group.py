"""Racks as a group whose members are upgraded in place: which are outdated, and when an upgrade is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clouds.base.errors import CloudError
from contract.kubernetes.api import Api
from longhaul.roll.host_pins import DRIVER_LABEL, HostPins, versions
from longhaul.roll.hosts import GPUS_TOLD_S, TOLD_S, HostGroup

PINS = {"kubelet": "1.30.3", "containerd": "2.2.1"}
BRANCHES = {"debian-12": "535", "ubuntu-24.04": "580"}
DEBIAN, UBUNTU = "Debian GNU/Linux 12 (bookworm)", "Ubuntu 24.04.3 LTS"


def node(
    name: str,
    *,
    kubelet: str = "v1.30.3",
    runtime: str = "containerd://v2.2.1",
    system: str = DEBIAN,
    driver: str | None = None,
) -> dict[str, Any]:
    info = {"kubeletVersion": kubelet, "containerRuntimeVersion": runtime, "osImage": system}
    labels = {DRIVER_LABEL: driver} if driver else {}
    return {"metadata": {"name": name, "labels": labels}, "status": {"nodeInfo": info}}


class Cluster(Api):
    """Nodes in memory, for the requests that the code makes."""

    def __init__(self, *nodes: dict[str, Any], served: str = "v1.30.3") -> None:
        self.nodes = {item["metadata"]["name"]: item for item in nodes}
        self.served, self.seconds = served, 0.0
        self.later: Callable[[], None] = lambda: None

    def get(self, path: str, **query: str) -> dict[str, Any]:
        assert not query
        return {"gitVersion": self.served} if path == "/version" else self.nodes[path.rpartition("/")[2]]

    def items(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        assert (path, query) == ("/api/v1/nodes", {"labelSelector": "longhaul.dev/pool=bare-metal"})
        return iter(self.nodes.values())

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        self.later()

    def hosts(self, *names: str, converge: Callable[[str], str], drivers: frozenset[str] = frozenset()) -> HostGroup:
        pins = HostPins(programs=PINS, branches=BRANCHES, drivers=drivers)
        return HostGroup(names, self, pins=pins, converge=converge, wait=self.pass_time, clock=lambda: self.seconds)


def nothing(_name: str) -> str:
    return ""


def test_a_host_is_old_when_anything_it_runs_is_not_what_is_pinned() -> None:
    old_runtime = node("b", runtime="containerd://2.1.0")
    cluster = Cluster(node("a"), old_runtime, node("c", kubelet="v1.29.9"), node("another's"))
    group = cluster.hosts("a", "b", "c", "not-joined", converge=nothing).look()
    assert {machine.node: machine.current for machine in group.machines} == {"a": True, "b": False, "c": False}
    assert (group.wanted, group.target) == (3, "kubelet 1.30.3, containerd 2.2.1")


def test_a_host_is_old_when_its_driver_is_of_another_branch() -> None:
    cluster = Cluster(
        node("old", driver="525"),
        node("new", driver="535"),
        node("ubuntu", driver="580", system=UBUNTU),
        node("old-ubuntu", driver="535", system=UBUNTU),
        node("its-own", driver="525"),
        node("silent"),
        node("unknown", driver="525", system="Debian GNU/Linux 13 (trixie)"),
    )
    ours = frozenset(cluster.nodes) - {"its-own"}
    group = cluster.hosts(*cluster.nodes, converge=nothing, drivers=ours).look()
    assert [machine.node for machine in group.machines if not machine.current] == ["old", "old-ubuntu"]
    assert group.target == "kubelet 1.30.3, containerd 2.2.1, driver 535 (debian-12), driver 580 (ubuntu-24.04)"


def test_a_driver_is_told_of_after_the_trial_of_its_gpus() -> None:
    cluster = Cluster(node("a", driver="525"))
    hosts = cluster.hosts("a", converge=nothing, drivers=frozenset("a"))
    cluster.later = lambda: cluster.nodes.update(a=node("a", driver="535")) if cluster.seconds > 1000 else None
    hosts.replace(hosts.look().machines[0])
    assert 1000 < cluster.seconds < GPUS_TOLD_S


def test_a_kubelet_is_never_newer_than_its_api_servers() -> None:
    with pytest.raises(CloudError, match=r"are v1\.29\.12, .*: `longhaul up` raises them to 1\.30\.3 first"):
        Cluster(node("a"), served="v1.29.12").hosts("a", converge=nothing).look()
    assert Cluster(node("a"), served="v1.31.0-eks-1").hosts("a", converge=nothing).look().machines


def test_an_upgrade_is_done_once_the_node_says_so() -> None:
    cluster = Cluster(node("a", kubelet="v1.30.2"))
    hosts = cluster.hosts("a", converge=nothing)
    cluster.later = lambda: cluster.nodes.update(a=node("a")) if cluster.seconds > 20 else None
    (machine,) = hosts.look().machines
    hosts.replace(machine)
    assert 20 < cluster.seconds < TOLD_S


def test_a_node_that_never_says_so_has_failed() -> None:
    cluster = Cluster(node("a", kubelet="v1.30.2"))
    hosts = cluster.hosts("a", converge=nothing)
    with pytest.raises(CloudError, match=r"its node still reports kubelet 1\.30\.2") as raised:
        hosts.replace(hosts.look().machines[0])
    assert not raised.value.passing


def test_what_ansible_says_of_a_failure_is_the_reason() -> None:
    cluster = Cluster(node("a", kubelet="v1.30.2"))
    hosts = cluster.hosts("a", converge=lambda name: f"{name}: no room")
    with pytest.raises(CloudError, match="a: no room"):
        hosts.replace(hosts.look().machines[0])


def test_versions_are_as_the_pins_write_them() -> None:
    assert versions(node("a", runtime="containerd://2.2.1")) == PINS
    assert versions(node("a", runtime="cri-o://1.30.0")) == {"kubelet": "1.30.3", "cri-o": "1.30.0"}
