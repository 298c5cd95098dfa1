"""The programs that machines start know every flag, variable and feature gate that they are given, in each pinned
version."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from components.model import Role, control_machines, load, plan
from components.model.versions.section import offered_versions
from components.render import api_server_machine, etcd
from lab import tools
from longhaul.toolchain.spec import load as load_spec
from longhaul.toolchain.spec import repository
from tests.support.hosts import stack_file

pytestmark = pytest.mark.engine

ROOTFS = repository() / "images/rootfs"
UNITS = ROOTFS / "etc/systemd/system"
PROGRAMS = ROOTFS / "usr/local/lib/longhaul"
FLAG = re.compile(r"(?<![\w-])--([a-z0-9-]+)=")
KNOWN = re.compile(r"^\s+(?:-\w, )?--([a-z0-9-]+)", re.MULTILINE)
VARIABLE = re.compile(r"\bETCD_([A-Z_]+)=")
DEPRECATED = {("kube-scheduler", "kubeconfig"), ("kube-scheduler", "profiling")}
"""Flags of ours that are deprecated, and known all the same: only a configuration file could say it instead."""
KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")


@cache
def help_of(release: str, version: str, program: str, log_dir: Path) -> str:
    """Return what a program of a version prints about its flags. One that is on demand is not made for this test."""
    spec = load_spec(versions={release: version})
    (tool,) = spec.select([program])
    if version != offered_versions(release)[0] and not tools.tool_dir(tool, spec=spec).is_dir():
        pytest.skip(f"it is on demand: `python -m lab.tools ensure {release}@{version}`")
    binary = tools.ensure([tool.name], log_dir=log_dir, progress=print, spec=spec)[program]
    done = subprocess.run([binary, "--help"], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def rendered() -> Mapping[Role, str]:
    """Return all files of a machine of each role, of the example of production."""
    environment = load(stack_file("prod"))
    addresses = plan(environment)
    return {
        machine.role: "\n".join(one.content for one in files.values())
        for machine in control_machines(environment, addresses)
        for files in [(etcd if machine.role.is_etcd else api_server_machine).files(environment, addresses, machine)]
    }


def text_of(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("version", offered_versions("kubernetes"))
@pytest.mark.parametrize("program", KUBERNETES)
def test_kubernetes_knows_every_flag_of_ours(program: str, version: str, tmp_path: Path) -> None:
    # A flag that is deprecated is hidden, or said to be.
    found = help_of("kubernetes", version, program, tmp_path)
    units = {unit.read_text(encoding="utf-8").partition("\nExecStart=")[2] for unit in UNITS.glob("*.service")}
    ours = {flag for text in units if text.startswith(f"/usr/local/bin/{program} ") for flag in FLAG.findall(text)}
    if program == "kube-apiserver":
        ours |= set(FLAG.findall(rendered()[Role.API])) | set(
            FLAG.findall(text_of(PROGRAMS / "kube_apiserver/etcd_endpoints.py"))
        )
        assert {"etcd-servers", "advertise-address"} <= ours
    assert ours
    assert ours - set(KNOWN.findall(found)) == set()
    assert "feature-gates" not in ours, "compare them with the binary's list here"
    for flag in ours:
        (said,) = re.findall(rf"^\s+(?:-\w, )?--{flag}(?=\s).*", found, re.MULTILINE)
        assert ("DEPRECATED" in said) is ((program, flag) in DEPRECATED)


@pytest.mark.parametrize("version", offered_versions("etcd"))
def test_etcd_knows_every_variable_and_gate_of_ours(version: str, tmp_path: Path) -> None:
    found = help_of("etcd", version, "etcd", tmp_path)
    text = text_of(UNITS / "etcd.service", PROGRAMS / "etcd/join.py") + rendered()[Role.ETCD]
    ours = {name.lower().replace("_", "-") for name in VARIABLE.findall(text)}
    assert {"name", "data-dir", "initial-cluster-state"} <= ours
    assert ours - set(KNOWN.findall(found)) == set()
    gates = re.findall(r"ETCD_FEATURE_GATES=(\S+)", text)
    for gate in ",".join(gates).split(","):
        name, _, value = gate.partition("=")
        assert value in ("true", "false")
        assert re.search(rf"^\s+{name}=true\|false", found, re.MULTILINE), name
