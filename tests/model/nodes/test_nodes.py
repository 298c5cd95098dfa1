"""Nodes' names, labels, taints and resources."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

import pytest
import yaml

from components.model import Environment, plan
from components.model.hosts.section import Host
from components.model.network.api_address import api_address, api_url
from components.model.network.mtu import ESP_OVERHEAD, ETHERNET_MTU, TUNNEL_MSS, TUNNEL_MTU, pod_mtu
from components.model.nodes.host_nodes import host_node_name, host_nodes
from components.model.nodes.kubelet_reservations import EVICTION_DISK_GIB, EVICTION_MIB, MAX_PODS, kube_reserved
from components.model.nodes.labels import host_labels, label_fault, pool_labels
from components.model.nodes.taints import gpu_taints
from contract.documents.node_place import POD_PREFIX
from contract.labels import (
    GPU_LABEL,
    KIND_LABEL,
    POOL_LABEL,
    RDMA_LABEL,
    REGION_LABEL,
    SITE_LABEL,
    TYPE_LABEL,
    ZONE_LABEL,
)
from tests.model import make


def full(*hosts: str) -> Environment:
    """Return an environment with three sites, two pools, and racks of these hosts."""
    raw = make.full()
    del raw["bare_metal"]
    listed = tuple(Host(name=name, site="colo") for name in hosts)
    return make.environment(raw).model_copy(update={"hosts": listed})


def test_the_api_is_reached_where_its_certificates_say() -> None:
    environment = full()
    addresses = plan(environment)
    assert api_address(environment, addresses) == IPv4Address("10.64.3.5")
    assert api_url(environment, addresses) == "https://10.64.3.5:443"


def test_pods_fit_through_a_tunnel_where_there_is_one() -> None:
    assert pod_mtu(full()) == TUNNEL_MTU
    assert pod_mtu(make.environment(make.minimal())) == ETHERNET_MTU


def test_a_tunnel_s_packet_fits_between_sites() -> None:
    # Documented by AWS for AES-GCM-16 with NAT traversal.
    assert ETHERNET_MTU - ESP_OVERHEAD == 1438
    assert TUNNEL_MTU <= ETHERNET_MTU - ESP_OVERHEAD
    # IPv4 and TCP without options.
    assert TUNNEL_MSS + 20 + 20 <= TUNNEL_MTU


def test_every_pod_has_an_address() -> None:
    assert MAX_PODS == 2 ** (32 - POD_PREFIX) == 16


def test_a_pool_s_labels_are_its_own_and_ours() -> None:
    assert pool_labels(full(), "gpu") == {
        REGION_LABEL: "us-east-1",
        SITE_LABEL: "use1",
        POOL_LABEL: "gpu",
        TYPE_LABEL: "p5.48xlarge",
        KIND_LABEL: "h100-spot",
        GPU_LABEL: "true",
        "gpu": "h100",
    }


def test_a_rack_host_is_a_node_of_its_place() -> None:
    environment = full("gpu-00", "gpu-01")
    found = host_nodes(environment, plan(environment))
    assert list(found) == ["gpu-00", "gpu-01"]
    second = found["gpu-01"]
    assert second.node_name == "test-gpu-01" == host_node_name(environment, "gpu-01")
    assert second.provider_id == "longhaul://test/colo/gpu-01"
    labels = host_labels(second.place)
    assert labels[POOL_LABEL] == "bare-metal"
    assert labels[REGION_LABEL] == labels[SITE_LABEL] == "colo"
    assert host_labels(second.place, gpus=2) == {**labels, KIND_LABEL: "gpu", GPU_LABEL: "true"}
    assert host_labels(second.place, rdma="roce") == {**labels, RDMA_LABEL: "roce"}


def test_a_node_with_gpus_is_born_out_of_reach() -> None:
    [taint] = gpu_taints(8)
    assert (taint.key, taint.value, taint.effect) == ("longhaul.dev/preflight", "pending", "NoSchedule")
    assert gpu_taints(0) == ()


@pytest.mark.parametrize(("vcpus", "cpu"), [(1, "60m"), (2, "70m"), (4, "80m"), (8, "90m"), (192, "550m")])
def test_larger_machines_keep_more_cores(vcpus: int, cpu: str) -> None:
    assert kube_reserved(vcpus) == {"cpu": cpu, "memory": "431Mi", "ephemeral-storage": "1Gi"}


@pytest.mark.parametrize("key", ["gpu", "example.com/a", "node.kubernetes.io/a", "x.node.kubernetes.io/a", "k8s.iox/a"])
def test_labels_that_a_pool_may_have(key: str) -> None:
    assert label_fault(key) is None


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        (ZONE_LABEL, "set by Longhaul"),
        (SITE_LABEL, "set by Longhaul"),
        (GPU_LABEL, "set by Longhaul"),
        ("node-role.kubernetes.io/worker", "may not give itself"),
        ("node-restriction.kubernetes.io/a", "may not give itself"),
        ("kubernetes.io/a", "may not give itself"),
        ("a.k8s.io/b", "may not give itself"),
    ],
)
def test_labels_that_it_may_not(key: str, fault: str) -> None:
    assert fault in (label_fault(key) or "")


def test_what_pods_do_not_get_is_what_the_kubelet_keeps(root: Path) -> None:
    text = (root / "images/rootfs/etc/longhaul/kubelet.conf.d/05-disk.conf").read_text(encoding="utf-8")
    eviction = yaml.safe_load(text)["evictionHard"]
    assert eviction["memory.available"] == f"{EVICTION_MIB}Mi"
    assert eviction["nodefs.available"] == f"{EVICTION_DISK_GIB}Gi"
