"""Properties of every node's map of files, in clouds and racks alike."""

from __future__ import annotations

import json
import re
import tomllib
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import pytest
import yaml

from clouds.registry import cloud_of
from components.model import load, plan
from components.model.network.cluster_dns import site_dns_addresses
from components.model.network.mtu import TUNNEL_MTU
from components.model.nodes.kubelet_reservations import MAX_PODS, kube_reserved, pod_pids
from components.render import File, UserDataError
from components.render.cloud_init import UserData, cloud_config
from components.render.node_files import COMPLETE
from contract.documents.join_kubeconfig import PATH as JOIN
from contract.labels import RDMA_LABEL
from tests.model import files, make
from tests.render.conftest import AUTHORITY, TOKEN, NodeCase

ROOTFS = Path(__file__).parents[2] / "images" / "rootfs"
UNITS = ROOTFS / "etc/systemd/system"


OWN = ("/etc/longhaul/kubelet.yaml", "/etc/longhaul/kube-proxy.yaml")
"""Files that root alone reads, though nothing in them is secret (CIS Kubernetes Benchmark 1.12, 4.1.9)."""


def test_a_rack_s_token_is_the_only_secret_and_is_in_one_file(node: NodeCase) -> None:
    assert (JOIN in node.files()) is (node.host is not None)
    for path, file in node.files().items():
        assert file.secret is (path == JOIN), path
        assert (TOKEN in file.content) is (path == JOIN), path
        assert "PRIVATE KEY" not in file.content
        own = file.secret or path in OWN
        assert file.mode == (0o600 if own else 0o444 if path.endswith(".crt") else 0o644)
        assert not (file.secret and file.mode & 0o077), path


def test_user_data_fits_and_carries_the_map(node: NodeCase) -> None:
    text = node.user_data()
    if text is None:
        return
    pool = node.environment.pools[node.pool or ""]
    # An authority's certificate has about 700 bytes more than its stand-in here.
    most = cloud_of(node.environment.sites[pool.site]).user_data_limit
    assert most is not None
    assert len(text.encode()) + 1000 <= most
    document = yaml.safe_load(text)
    assert set(document) == {"write_files"}, "what starts a node is a file, not a command at cloud-init's end"
    *entries, last = document["write_files"]
    assert last["path"] == COMPLETE
    assert {entry["path"]: entry["content"] for entry in entries} == {p: f.content for p, f in node.files().items()}
    assert {entry["path"]: int(entry["permissions"], 8) for entry in entries} == {
        p: f.mode for p, f in node.files().items()
    }


def test_the_image_waits_for_the_last_file() -> None:
    assert f"PathExists={COMPLETE}\n" in (UNITS / "longhaul-node.path").read_text()
    enabled = ROOTFS / "usr/lib/systemd/system/paths.target.wants/longhaul-node.path"
    assert str(enabled.readlink()) == "/etc/systemd/system/longhaul-node.path"


def test_units_name_files_that_are_there(node: NodeCase) -> None:
    """Every path below /etc/longhaul that a node's unit names is on the node's map, or is written on the node. A
    kubelet with a certificate, which a cloud's machine always has, does not read the credentials for joining."""
    found = {*node.files(), JOIN}
    for unit in ("containerd", "kubelet", "kube-proxy", "longhaul-node-place"):
        named = set(re.findall(r"/etc/longhaul/[\w./-]*\w", (UNITS / f"{unit}.service").read_text()))
        assert named - {"/etc/longhaul/kubelet.conf.d"} <= found, unit


def test_the_kubelet_trusts_what_it_is_given_and_nobody_else(node: NodeCase) -> None:
    found = node.files()
    kubelet = yaml.safe_load(found["/etc/longhaul/kubelet.yaml"].content)
    authority = kubelet["authentication"]["x509"]["clientCAFile"]
    assert found[authority].content == AUTHORITY
    assert kubelet["authentication"]["anonymous"]["enabled"] is False
    assert kubelet["authorization"]["mode"] == "Webhook"
    assert kubelet["serverTLSBootstrap"] is True
    assert kubelet["rotateCertificates"] is True
    site, everywhere = kubelet["clusterDNS"]
    assert IPv4Address(site) in site_dns_addresses(node.addresses).values()
    assert everywhere == str(node.addresses.dns_service)
    assert kubelet["maxPods"] == MAX_PODS
    if node.host is not None:
        [cluster] = json.loads(found[JOIN].content)["clusters"]
        assert cluster["cluster"]["certificate-authority"] == authority
        assert cluster["cluster"]["server"] == json.loads(found["/etc/longhaul/node.json"].content)["api"]


def test_a_cloud_s_machine_knows_where_to_prove_itself(node: NodeCase) -> None:
    said = json.loads(node.files()["/etc/longhaul/node.json"].content)
    assert ("join" in said) is (node.pool is not None)
    if node.pool is not None:
        assert f"https://{said['join']['address']}:" in said["api"]
        assert said["join"]["cluster"] == node.environment.name


def test_taints_are_there_from_birth(node: NodeCase) -> None:
    kubelet = yaml.safe_load(node.files()["/etc/longhaul/kubelet.yaml"].content)
    wanted = [taint.model_dump() for taint in node.environment.pools[node.pool].taints] if node.pool else []
    if json.loads(node.files()["/etc/longhaul/node.json"].content)["gpus"]:
        wanted.append({"key": "longhaul.dev/preflight", "value": "pending", "effect": "NoSchedule"})
    assert kubelet.get("registerWithTaints", []) == wanted


def test_settings_follow_the_machine_s_size_and_gpus(node: NodeCase) -> None:
    found = node.files()
    described = json.loads(found["/etc/longhaul/node.json"].content)
    kubelet = yaml.safe_load(found["/etc/longhaul/kubelet.yaml"].content)
    if node.pool is not None:
        pool = node.environment.pools[node.pool]
        machine = node.environment.machine_type(pool.machine_type)
        wanted = machine.gpus
        assert pool.labels.items() <= described["labels"].items()
        assert kubelet["podPidsLimit"] == pod_pids(machine.vcpus)
        assert kubelet["kubeReserved"] == kube_reserved(machine.vcpus)
    else:
        wanted = next(host.gpus for host in node.environment.hosts if host.name == node.host)
    assert described["gpus"] == wanted
    if wanted:
        assert (kubelet["cpuManagerPolicy"], kubelet["topologyManagerPolicy"]) == ("static", "best-effort")
        assert kubelet["cpuManagerPolicyOptions"] == {"distribute-cpus-across-numa": "true"}
        assert kubelet["topologyManagerScope"] == "pod"
        # The static policy does not start without reserved CPU (cpu_manager.go, NewManager).
        assert int(kubelet["kubeReserved"]["cpu"].removesuffix("m")) > 0
    else:
        assert not [key for key in kubelet if key.startswith(("cpuManager", "topologyManager", "memoryManager"))]


def test_huge_pages_and_gpus_are_the_environment_s(tmp_path: Path) -> None:
    environment = load(files.write(tmp_path, make.full(), hosts=make.hosts()))
    addresses = plan(environment)
    shared: dict[str, Any] = {"environment": environment, "addresses": addresses}
    cases = {name: NodeCase(**shared, pool=name) for name in environment.pools}
    cases |= {host.name: NodeCase(**shared, host=host.name) for host in environment.hosts}
    said = {name: json.loads(case.files()["/etc/longhaul/node.json"].content) for name, case in cases.items()}
    assert {name: one["huge_pages_gib"] for name, one in said.items()} == {
        "gpu": 64,
        "big": 0,
        "rack-0": 64,
        "rack-1": 0,
    }
    assert {name: one["huge_pages_2mib"] for name, one in said.items() if "huge_pages_2mib" in one} == {"gpu": 5128}
    assert {name for name, one in said.items() if RDMA_LABEL in one["labels"]} == {"rack-0"}
    gpus = {name: {key: value for key, value in one.items() if key.startswith("gpu")} for name, one in said.items()}
    assert gpus == {
        "gpu": {"gpus": 8, "gpu_model": "H100", "gpu_nvlinks": 18, "gpu_check": ["/usr/local/bin/burn", "60"]},
        "big": {"gpus": 1, "gpu_model": "A100 80GB", "gpu_nvlinks": 0},
        "rack-0": {"gpus": 8, "gpu_model": "H100", "gpu_nvlinks": 18, "gpu_check": ["/usr/local/bin/burn"]},
        "rack-1": {"gpus": 0},
    }
    assert {name for name, one in said.items() if one.get("deletion_notice")} == {"big"}
    labelled = {name for name, one in said.items() if one["labels"].get("nvidia.com/gpu.present") == "true"}
    assert labelled == {"gpu", "big", "rack-0"}


def test_addresses_inside_the_environment_stay_as_they_are(node: NodeCase) -> None:
    found = node.files()
    proxy = yaml.safe_load(found["/etc/longhaul/kube-proxy.yaml"].content)
    described = json.loads(found["/etc/longhaul/node.json"].content)
    assert proxy["mode"] == "nftables"
    assert proxy["clusterCIDR"] == described["supernet"] == str(node.addresses.supernet)
    assert described["pod_mtu"] == TUNNEL_MTU


def test_labels_are_written_plainly_enough_for_a_flag(node: NodeCase) -> None:
    labels = json.loads(node.files()["/etc/longhaul/node.json"].content)["labels"]
    assert {"topology.kubernetes.io/region", "longhaul.dev/site", "longhaul.dev/pool"} <= labels.keys()
    assert "topology.kubernetes.io/zone" not in labels, "the machine itself knows it"
    for key, value in labels.items():
        assert not re.search(r"[\s,='\"\\$]", key + value)


def test_images_come_from_the_depot_where_there_is_one(node: NodeCase) -> None:
    found = node.files()
    hosts = found.get("/etc/containerd/certs.d/_default/hosts.toml")
    site = (
        node.environment.pools[node.pool].site
        if node.pool
        else json.loads(found["/etc/longhaul/place.json"].content)["zone"]
    )
    depot = node.environment.sites[site].depot
    assert (hosts is None) == (depot is None)
    if hosts is not None:
        parsed = tomllib.loads(hosts.content)
        assert parsed["server"] == depot
        assert set(parsed["host"]) == {depot}


def test_a_rack_host_is_told_its_place(node: NodeCase) -> None:
    place = node.files().get("/etc/longhaul/place.json")
    assert (place is None) == (node.host is None)
    if place is not None:
        told = json.loads(place.content)
        assert told["name"] == f"{node.environment.name}-{node.host}"
        assert told["provider_id"] == f"longhaul://{node.environment.name}/{told['zone']}/{node.host}"
        site = node.addresses.sites[told["zone"]]
        assert IPv4Network(told["pods"]).subnet_of(site.pods)
        assert IPv4Network(told["address"]).subnet_of(site.nodes)


def test_the_containerd_of_the_image_reads_what_is_on_the_map() -> None:
    configuration = tomllib.loads((ROOTFS / "etc/containerd/conf.d/10-longhaul.toml").read_text())
    assert configuration["version"] == 3
    registry = configuration["plugins"]["io.containerd.cri.v1.images"]["registry"]
    assert registry["config_path"] == "/etc/containerd/certs.d"
    cni = configuration["plugins"]["io.containerd.cri.v1.runtime"]["cni"]
    assert cni["conf_dir"] == "/run/longhaul/cni"
    # The CRI plugin's own settings for pulling disable its newer way to pull (containerd, plugins/cri/images).
    assert "max_concurrent_downloads" not in configuration["plugins"]["io.containerd.cri.v1.images"]


def test_user_data_holds_no_secret(node: NodeCase) -> None:
    if node.pool is None:
        return
    site = node.environment.sites[node.environment.pools[node.pool].site]
    files = {"/etc/other": File(content="x", secret=True)}
    with pytest.raises(UserDataError, match="/etc/other is secret"):
        cloud_config(UserData(name="x", site=site, files=files, start=None))
