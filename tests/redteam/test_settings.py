"""Settings of what machines start that an attacker would look for, without a machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from components.model import Environment, Role, control_machines, plan
from components.model.nodes.kubelet_reservations import LEAST_PIDS, pod_pids
from components.render import api_server_machine as rendering
from components.render import node_files
from components.render.kubelet import TLS_CIPHER_SUITES

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "images/rootfs/etc/systemd/system"


@pytest.mark.parametrize("unit", ["kube-apiserver", "kube-controller-manager", "kube-node-signer", "kube-scheduler"])
def test_every_server_of_tls_1_2_has_the_same_ciphers(unit: str) -> None:
    text = (UNITS / f"{unit}.service").read_text(encoding="utf-8")
    (found,) = re.findall(r"--tls-cipher-suites=(\S+)", text)
    assert tuple(found.split(",")) == TLS_CIPHER_SUITES
    assert all("_ECDHE_" in suite and ("_GCM_" in suite or "_CHACHA20_" in suite) for suite in TLS_CIPHER_SUITES)


def test_etcd_speaks_tls_1_3_alone() -> None:
    assert "Environment=ETCD_TLS_MIN_VERSION=TLS1.3\n" in (UNITS / "etcd.service").read_text(encoding="utf-8")


def test_what_an_api_server_s_machine_keeps_to_its_programs(environment: Environment) -> None:
    """CIS Kubernetes Benchmark 1.12, 1.1.15 to 1.1.18."""
    addresses = plan(environment)
    machine = next(one for one in control_machines(environment, addresses) if one.role is Role.API)
    files = rendering.files(environment, addresses, machine)
    closed = {path: (file.mode, file.owner) for path, file in files.items() if path.endswith((".kubeconfig", ".yaml"))}
    assert set(closed.values()) == {(0o600, "kube:kube")}
    assert {"/etc/longhaul/controller-manager.kubeconfig", "/etc/longhaul/scheduler.kubeconfig"} <= set(closed)


def test_what_a_host_joins_with_is_root_s(environment: Environment) -> None:
    found = node_files.join_kubeconfig(environment, plan(environment), token="abcdef.0123456789abcdef")
    assert (found.mode, found.owner) == (0o600, "root:root")


@pytest.mark.parametrize("kind", ["pool", "host"])
def test_a_kubelet_limits_pods_by_default(environment: Environment, kind: str) -> None:
    addresses = plan(environment)
    files = (
        node_files.pool_files(environment, addresses, next(iter(environment.pools)), kubernetes_ca="CA")
        if kind == "pool"
        else node_files.host_files(environment, addresses, environment.hosts[0].name, kubernetes_ca="CA")
    )
    kubelet = yaml.safe_load(files["/etc/longhaul/kubelet.yaml"].content)
    assert kubelet["seccompDefault"] is True
    assert kubelet["podPidsLimit"] >= LEAST_PIDS
    assert tuple(kubelet["tlsCipherSuites"]) == TLS_CIPHER_SUITES


@pytest.mark.parametrize(("vcpus", "most"), [(1, LEAST_PIDS), (4, LEAST_PIDS), (8, 8_192), (192, 196_608)])
def test_a_pod_s_processes_follow_the_machine(vcpus: int, most: int) -> None:
    assert pod_pids(vcpus) == most
