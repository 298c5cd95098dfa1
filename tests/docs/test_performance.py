"""Every performance setting has a row on the page, with a source; a setting without one fails here."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.render.conftest import node_cases

OTHER = {
    *("apiVersion", "kind", "authentication", "authorization", "rotateCertificates", "serverTLSBootstrap"),
    *("tlsMinVersion", "containerRuntimeEndpoint", "cgroupDriver", "clusterDNS", "clusterDomain", "maxPods"),
    *("enableProfilingHandler", "registerWithTaints", "tlsCipherSuites", "seccompDefault", "podPidsLimit"),
}
"""Keys of the kubelet's configuration that are not for speed: access, addresses and paths, and the number of pods,
which is the address plan's. A new key belongs here or on the page."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the table."""

    setting: str
    value: str
    where: str
    why: str
    source: str


@pytest.fixture(scope="module", name="page")
def _page(root: Path) -> str:
    return (root / "docs/performance.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module", name="rows")
def _rows(page: str) -> list[Row]:
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    return [
        Row(setting=setting.strip("`"), value=value, where=where, why=why, source=source)
        for setting, value, where, why, source in cells
    ]


@pytest.fixture(name="program")
def _program(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(root / "images/rootfs/usr/local/lib/longhaul"))
    return importlib.import_module("node.performance")


def told(rows: list[Row], where: str) -> dict[str, str]:
    return {row.setting: row.value for row in rows if row.where == where}


def rendered(name: str) -> list[dict[str, Any]]:
    """Return that file of every kind of node."""
    return [yaml.safe_load(node.files()[f"/etc/longhaul/{name}"].content) for node in node_cases()]


def test_each_is_said_once_with_a_reason_and_a_source(page: str, rows: list[Row]) -> None:
    assert len({row.setting for row in rows}) == len(rows) > 0
    defined = set(re.findall(r"^\[([^]]+)\]: \S+$", page, flags=re.MULTILINE))
    named = [re.findall(r"\[([^]]+)\]", row.source) for row in rows]
    for row, names in zip(rows, named, strict=True):
        assert all((row.value, row.where, row.why)), row
        assert names or row.source == "ours", row
    text = page[: page.index("\n[")]
    assert {name for names in named for name in names} <= defined
    assert {name for name in defined if f"[{name}]" not in text} == set()


def test_lessons_that_are_named_are_told(root: Path, page: str) -> None:
    lessons = (root / "docs/lessons.md").read_text(encoding="utf-8")
    numbers = set(re.findall(r"\[lesson (\d+)\]", page))
    assert numbers
    assert all(f"\n| {number} " in lessons for number in numbers)


def test_the_kernels_parameters(root: Path, rows: list[Row]) -> None:
    lines = (root / "images/rootfs/usr/local/share/longhaul/node-sysctl.conf").read_text().splitlines()
    pairs = [line.removeprefix("-").partition(" = ") for line in lines if line and not line.startswith("#")]
    assert told(rows, "sysctl") == {key: value for key, _, value in pairs}


def test_the_programs_settings(rows: list[Row], program: ModuleType) -> None:
    values = told(rows, "program")
    assert set(values) == set(program.SETTINGS)
    assert values["scaling_governor"] == program.GOVERNOR
    assert values["transparent_hugepage/enabled"] == program.TRANSPARENT
    connections = f"{program.CONNECTIONS_PER_GIB} a GiB, to {program.MOST_CONNECTIONS}"
    assert values["net.netfilter.nf_conntrack_max"] == connections


def test_the_kubelets_settings(rows: list[Row]) -> None:
    values = told(rows, "kubelet")
    found: dict[str, Any] = {}
    for configuration in rendered("kubelet.yaml"):
        found |= {key: value for key, value in configuration.items() if key not in OTHER}
    assert set(values) == set(found)
    for key, value in found.items():
        if not isinstance(value, dict):
            assert values[key].split()[0] == str(value).lower(), key
    assert found["cpuManagerPolicyOptions"] == {values["cpuManagerPolicyOptions"]: "true"}
    memory, _, pids, _ = values["systemReserved"].replace(",", "").split()
    assert found["systemReserved"] == {"memory": memory, "pid": pids}


def test_kube_proxy_leaves_the_number_alone(rows: list[Row]) -> None:
    for configuration in rendered("kube-proxy.yaml"):
        found = {f"conntrack.{key}": str(value) for key, value in configuration["conntrack"].items()}
        assert told(rows, "kube-proxy") == found


def test_the_units_limits(root: Path, rows: list[Row]) -> None:
    found: set[tuple[str, str]] = set()
    for unit in ("containerd", "kubelet"):
        text = (root / f"images/rootfs/etc/systemd/system/{unit}.service").read_text()
        found |= set(re.findall(r"^(Limit\w+|TasksMax|OOMScoreAdjust)=(.+)$", text, flags=re.MULTILINE))
    assert set(told(rows, "units").items()) == found


def test_containerds_settings(root: Path, rows: list[Row]) -> None:
    values = told(rows, "containerd")
    rootfs = root / "images/rootfs"
    plugins = tomllib.loads((rootfs / "etc/containerd/conf.d/10-longhaul.toml").read_text())["plugins"]
    downloads = plugins["io.containerd.transfer.v1.local"]["max_concurrent_downloads"]
    assert values == {"max_concurrent_downloads": str(downloads), "--root": "the local SSD"}
    assert '--root "$root"' in (rootfs / "etc/systemd/system/containerd.service").read_text()
