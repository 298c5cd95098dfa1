"""A real API server with the admission and the cipher suites of ours, and a member of a team in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.model import Environment, Role, control_machines, load, plan
from components.render import api_server as rendering
from lab import tools
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.hosts import STACKS

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "images/rootfs/etc/systemd/system/kube-apiserver.service"
FLAGS = r"^  (--(?:enable-admission-plugins|tls-cipher-suites|tls-min-version)=\S+)"
TEAM = "team-a"


@pytest.fixture(scope="session", name="environment")
def _environment() -> Environment:
    return load(STACKS / "Pulumi.lab.yaml")


@pytest.fixture(scope="module", name="guarded")
def _guarded(tmp_path_factory: pytest.TempPathFactory, environment: Environment) -> Iterator[ApiServer]:
    """Run an API server with the flags of the unit and the files of the lab's environment."""
    folder = tmp_path_factory.mktemp("guarded")
    addresses = plan(environment)
    machine = next(one for one in control_machines(environment, addresses) if one.role is Role.API)
    file = folder / "admission.yaml"
    file.write_text(rendering.files(environment, addresses, machine)["/etc/longhaul/admission.yaml"].content)
    names = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"]
    binaries = tools.ensure(names, log_dir=folder, progress=print)
    flags = re.findall(FLAGS, UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    arguments = [*flags, f"--admission-control-config-file={file}"]
    with api_server(folder, tools=binaries, services=addresses.services, arguments=arguments) as server:
        server.start_controllers()
        for name in (TEAM, "team-b"):
            server.kubectl("create", "namespace", name)
            server.kubectl(*_may_edit(name))
            there = ("get", "serviceaccounts", "default", f"--namespace={name}", "--ignore-not-found", "--output=name")
            eventually(lambda there=there: server.kubectl(*there), what=f"{name} has its service account")
        yield server


@pytest.fixture(scope="module", name="member")
def _member(guarded: ApiServer) -> Path:
    """Kubeconfig of somebody with the role ``edit`` in one namespace."""
    return guarded.user("alice")


def _may_edit(namespace: str) -> tuple[str, ...]:
    return ("create", "rolebinding", "alice", "--clusterrole=edit", "--user=alice", f"--namespace={namespace}")
