"""The autoscaler as a unit: the program as machines have it, against a real API server, with the rights that the
objects stack gives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from components.model import Environment, load
from components.model.autoscaler.document import CONFIGMAP, KEY, Given, to_text
from components.model.autoscaler.rights import Rule, everywhere, in_kube_system
from components.model.autoscaler.section import Autoscaler
from components.model.secrets.certificates import AUTOSCALER_USER as USER
from contract.kubernetes.api import Api
from contract.kubernetes.lease import LEASES
from contract.object_names import AUTOSCALER, SYSTEM_NAMESPACE
from lab import tools
from longhaul.toolchain import services
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.hosts import STACKS
from tests.support.ports import free_ports

pytestmark = pytest.mark.engine

TOOLS = ["etcd", "kube-apiserver", "kubectl"]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MAPS = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/configmaps"
WRITTEN = {"api_groups": "apiGroups", "resource_names": "resourceNames"}


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    binaries = tools.ensure(TOOLS, log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    folder = tmp_path_factory.mktemp("cluster")
    with api_server(folder, tools=binaries, services=IPv4Network("10.80.0.0/17")) as server:
        yield server


@pytest.fixture(scope="module", name="tree")
def _tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the autoscaler's folder as an image has it, for this Python."""
    made = services.ensure(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        machine=os.uname().machine,
        log_dir=tmp_path_factory.mktemp("log"),
        progress=print,
    )
    return made / services.PLACE


@pytest.fixture(name="api")
def _api(server: ApiServer) -> Api:
    return server.client(timeout_s=10.0)


@pytest.fixture(name="environment")
def _environment() -> Environment:
    """Return the lab's environment without pools, since no cloud is here."""
    found = load(STACKS / "Pulumi.lab.yaml")
    return found.model_copy(update={"pools": {}, "autoscaler": Autoscaler(dry_run=True)})


def told(api: Api, given: Given) -> None:
    """Write the document, as `longhaul up` does."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIGMAP}, "data": {KEY: to_text(given)}}
    if api.find(f"{MAPS}/{CONFIGMAP}") is None:
        api.post(MAPS, body)
    else:
        api.patch(f"{MAPS}/{CONFIGMAP}", {"data": body["data"]})


@pytest.fixture(name="rights")
def _rights(api: Api, environment: Environment) -> None:
    """Give the user what the objects stack gives one that only looks."""
    role(api, "", everywhere(acts=False))
    role(api, f"/namespaces/{SYSTEM_NAMESPACE}", in_kube_system(environment.pools, acts=False))


def role(api: Api, where: str, rules: tuple[Rule, ...]) -> None:
    kind = "Role" if where else "ClusterRole"
    path = f"{RBAC}{where}/{kind.lower()}"
    plain = [{WRITTEN.get(key, key): value for key, value in rule.items()} for rule in rules]
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": USER}
    if api.find(f"{path}s/{USER}") is None:
        api.post(f"{path}s", {"metadata": {"name": USER}, "rules": plain})
        api.post(f"{path}bindings", {"metadata": {"name": USER}, "roleRef": reference, "subjects": [subject]})


class Running:
    """One machine's unit."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log

    def metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            return str(answer.read().decode())

    def leads(self) -> bool:
        return "longhaul_autoscaler_leader 1" in self.metrics()

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")


@contextmanager
def running(server: ApiServer, tree: Path, folder: Path, name: str) -> Iterator[Running]:
    """Start the unit's own command, with the machine's packages and no others."""
    place = folder / name
    pki = place / "pki"
    pki.mkdir(parents=True)
    (pki / "autoscaler.pem").write_bytes(server.pem(USER).read_bytes())
    (pki / "kubernetes-ca.crt").write_bytes((server.folder / "ca.crt").read_bytes())
    (place / "node.json").write_text(json.dumps({"machine": name, "port": server.port}))
    (port,) = free_ports(1)
    words = ["-s", "-m", "services.autoscaler.unit", "--node", str(place / "node.json"), "--pki", str(pki)]
    log = place / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [os.path.realpath(sys.executable), *words, "--port", str(port)],
            cwd=place,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Running(process, port, log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def healthy(one: Running) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{one.port}/healthz", timeout=30) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_one_leads_and_the_other_follows_it(
    server: ApiServer, tree: Path, tmp_path: Path, api: Api, environment: Environment, rights: None
) -> None:
    with running(server, tree, tmp_path, "lab-api-0") as first, running(server, tree, tmp_path, "lab-api-1") as second:
        eventually(lambda: healthy(first) and healthy(second), what="both answer before they are told anything")
        eventually(lambda: "no `autoscaler`" in first.said(), what="it says why it does nothing")
        told(api, Given(environment=environment))
        eventually(lambda: first.leads() or second.leads(), what="one leads")
        leader, other = (first, second) if first.leads() else (second, first)
        assert not other.leads()
        eventually(lambda: "passes_total 0\n" not in leader.metrics(), what="it makes passes")
        holder = api.get(f"{LEASES}/{AUTOSCALER}")["spec"]["holderIdentity"]
        assert holder.endswith(leader.log.parent.name)
        leader.process.send_signal(signal.SIGTERM)
        assert leader.process.wait(60) == 0, "it ends by itself"
        eventually(other.leads, what="the other one leads")


def test_a_change_of_the_environment_ends_the_run(
    server: ApiServer, tree: Path, tmp_path: Path, api: Api, environment: Environment, rights: None
) -> None:
    told(api, Given(environment=environment))
    with running(server, tree, tmp_path, "lab-api-0") as one:
        eventually(lambda: healthy(one) and one.leads(), what="it leads")
        told(api, Given(environment=environment.model_copy(update={"max_nodes": 17})))
        assert one.process.wait(60) == 0, "systemd starts it anew"
        assert "the environment has changed" in one.said()
        assert api.get(f"{LEASES}/{AUTOSCALER}")["spec"].get("holderIdentity", "") == "", "the lease is free at once"


def test_one_that_only_looks_may_change_nothing(server: ApiServer, api: Api, rights: None) -> None:
    """The rights themselves, asked of the server: the mode is not the program's promise alone."""
    refused = {
        "patch nodes": "no",
        "create pods --subresource=eviction": "no",
        "create events": "no",
        "list secrets": "no",
        "list pods": "yes",
        "list nodes": "yes",
    }
    for words, answer in refused.items():
        said = server.kubectl("auth", "can-i", *words.split(), f"--as={USER}", "--all-namespaces", check=False)
        assert said.split()[-1] == answer, words
