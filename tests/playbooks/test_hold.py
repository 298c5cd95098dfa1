"""Versions that run below a node's pods: the question to the machine, and the list of what an upgrade would replace."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
import yaml

from longhaul.roll.host_pins import UPGRADED
from tests.playbooks.test_pins_filter import PINS, PLUGIN
from tests.playbooks.test_scripts import ROLES, program, sh
from tests.support.modules import module_at

NVIDIA = module_at(ROLES.parent / "filter_plugins" / "nvidia.py")

SCRIPT = (ROLES / "node" / "files" / "versions.sh").read_text()
PINNED = {one["name"]: one["version"] for one in PLUGIN.pinned_binaries(PINS, ["kubelet", "containerd"], "amd64")}


def asked(folder: Path, *, node: bool = True) -> list[str]:
    certificate = folder / "certificate"
    if node:
        certificate.touch()
    script = SCRIPT.replace("/usr/local/bin", str(folder)).replace("/sys/module", str(folder / "module"))
    return sh(script, str(certificate), "kubelet", "containerd").stdout.splitlines()


def test_a_node_says_what_it_runs(tmp_path: Path) -> None:
    program(tmp_path, "kubelet", f"echo Kubernetes v{PINNED['kubelet']}")
    program(tmp_path, "containerd", "echo containerd github.com/containerd/containerd/v2 v2.2.1 1c4457e00facac03")
    assert asked(tmp_path) == [f"kubelet {PINNED['kubelet']}", "containerd 2.2.1"]


def test_what_does_not_answer_is_repaired_and_not_held(tmp_path: Path) -> None:
    program(tmp_path, "kubelet", "exit 127")
    assert asked(tmp_path) == []


def test_what_is_held_is_what_a_roll_upgrades() -> None:
    variables = yaml.safe_load((ROLES / "node" / "vars" / "main.yml").read_text())
    assert variables["node_held_programs"] == list(UPGRADED)


def test_a_node_says_which_driver_runs_and_on_what(tmp_path: Path) -> None:
    version = tmp_path / "module" / "nvidia" / "version"
    version.parent.mkdir(parents=True)
    version.write_text("525.147.05\n")
    (line,) = asked(tmp_path)
    system, _, driver = line.removeprefix(NVIDIA.RUNS).partition(" ")
    assert driver == "525.147.05"
    assert system.startswith(platform.freedesktop_os_release()["ID"])
    assert NVIDIA.driver_replaced_by([line], {system: {"nvidia": {"branch": "535"}}}) == ["driver 525.147.05 -> 535"]


@pytest.mark.parametrize("line", ["nvidia:debian-12 535.309.01", "nvidia:debian-13 525.147.05", "kubelet 1.36.2"])
def test_a_driver_of_the_branch_stays_as_it_is(line: str) -> None:
    assert NVIDIA.driver_replaced_by([line], {"debian-12": {"nvidia": {"branch": "535"}}}) == []


def test_who_is_no_node_is_asked_nothing(tmp_path: Path) -> None:
    program(tmp_path, "kubelet", "echo Kubernetes v1.0.0")
    assert asked(tmp_path, node=False) == []


@pytest.mark.parametrize(
    ("runs", "replaced"),
    [
        ({}, []),
        ({"kubelet": PINNED["kubelet"]}, []),
        ({"kubelet": "1.36.2"}, [f"kubelet 1.36.2 -> {PINNED['kubelet']}"]),
        ({"kubelet": "1.99.0"}, [f"kubelet 1.99.0 -> {PINNED['kubelet']}"]),
        ({"kubelet": PINNED["kubelet"], "containerd": "2.0"}, [f"containerd 2.0 -> {PINNED['containerd']}"]),
    ],
)
def test_only_what_differs_is_replaced(runs: dict[str, str], replaced: list[str]) -> None:
    lines = [f"{name} {version}" for name, version in runs.items()]
    assert PLUGIN.replaced_by(lines, PINS, ["containerd", "kube-proxy", "kubelet"]) == replaced
