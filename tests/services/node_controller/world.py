"""A real cluster with a node controller, and callers that ask it for certificates."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clouds.base.machine_lists import ListedMachine, MachineList, Presence
from contract.kubernetes.machine import MachineApi
from contract.users import BOOTSTRAPPERS
from lab import tools
from services.metrics import ServiceMetrics
from services.node_controller import judge
from services.node_controller.controller import Controller
from services.node_controller.inventory import Inventory
from services.node_controller.metrics import METRICS
from services.node_controller.sources import machine_list
from tests.images import kubelets
from tests.images.api_server import API, EVENTS, MAIN, Machines
from tests.images.fakes import FakeVault
from tests.images.machines import Control, eventually
from tests.services.node_controller.rights import rights

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
HOST_TOKEN = "rackid.0123456789abcdef"
ENVIRONMENT = {
    "format": 1,
    "environment": "lab",
    "aws_role": "arn:aws:iam::123456789012:role/lab-node-controller",
    "sites": {"use1": {"kind": "aws", "region": "us-east-1", "node_role": "node"}, "rack": {"kind": "onprem"}},
    "pools": {"cpu": {"site": "use1", "groups": ["lab-cpu"]}},
    "racks": {"lab-node-0": {"site": "rack", "address": "10.66.32.10", "pods": "10.66.128.0/28"}},
}


class Cloud(MachineList):
    """A site's list of machines, which a test writes."""

    def __init__(self) -> None:
        super().__init__("use1")
        self.machines: dict[str, ListedMachine] = {}

    def put(self, name: str, address: str, *, presence: Presence = Presence.THERE) -> str:
        self.machines[name] = ListedMachine(
            name=name,
            identity=name,
            site=self.site,
            pool="cpu",
            zone="us-east-1a",
            addresses=frozenset([address]),
            presence=presence,
        )
        return name

    def everything(self) -> Mapping[str, ListedMachine]:
        return dict(self.machines)

    def some(self, names: Iterable[str]) -> Mapping[str, ListedMachine]:
        return {name: self.machines[name] for name in names if name in self.machines}


class Caller:
    """A caller of the API, with a certificate or a token."""

    def __init__(self, base: str, trust: str, *, pem: Path | None = None, token: str = "") -> None:
        self._base, self._token = base, token
        self._context = ssl.create_default_context(cadata=trust)
        if pem:
            self._context.load_cert_chain(pem)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Content-Type": kind}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=60) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        status, answer = self.ask("POST", path, body)
        assert status in (200, 201), answer
        return answer

    def who(self) -> dict[str, Any]:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        found: dict[str, Any] = self.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)["status"]
        return dict(found["userInfo"])


class World:
    """A cluster with a node controller."""

    def __init__(self, machines: Machines, folder: Path) -> None:
        self.folder, self.cloud, self.machines = folder, Cloud(), machines
        self.failed: list[str] = []
        self.lists: dict[str, Inventory] = {}
        self.base, self.trust = machines.client.base, machines.control.vault.secrets["trust-kubernetes"]
        self.admin = Caller(self.base, self.trust, pem=folder / "admin.pem")
        place = machines.control[API]
        self.pki = place.path("/etc/longhaul/pki")
        self.service = Caller(self.base, self.trust, pem=self.pki / "join.pem")
        self.api = self.as_holder(self.pki / "node-controller.pem")

    def as_holder(self, certificate: Path) -> MachineApi:
        """Return the API as a program asks it that has a certificate."""
        return MachineApi(self.base, authority=self.pki / "kubernetes-ca.crt", certificate=certificate)

    def controller(self) -> Controller:
        return Controller(
            self.api,
            instance=API,
            metrics=ServiceMetrics(METRICS),
            build=self._build,
            fail=lambda: self.failed.append("a part of the controller failed; its log says why"),
        )

    def _build(self, environment: Any, *, changed: Callable[[], None], stop: threading.Event) -> dict[str, Inventory]:
        host = machine_list(environment, environment.sites["rack"])
        self.lists = {source.site: Inventory(source, changed=changed) for source in (self.cloud, host)}
        return self.lists

    def prepare(self) -> None:
        """Create what the objects stack creates."""
        for name in ("default", "kube-system", "kube-node-lease"):
            there = lambda path=f"/api/v1/namespaces/{name}": self.admin.ask("GET", path)[0] == 200  # noqa: E731
            eventually(there, what=f"the namespace {name} is there")
        for path, document in rights():
            self.admin.post(path, document)
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "longhaul-environment"}}
        document["data"] = {"environment.json": json.dumps(ENVIRONMENT)}  # type: ignore[assignment]
        self.admin.post("/api/v1/namespaces/kube-system/configmaps", document)
        self.token(HOST_TOKEN, "lab-node-0")

    def token(self, token: str, host: str) -> None:
        id_, secret = token.split(".")
        self.admin.post(
            "/api/v1/namespaces/kube-system/secrets",
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "bootstrap.kubernetes.io/token",
                "metadata": {"name": f"bootstrap-token-{id_}", "labels": {"longhaul.dev/node": host}},
                "stringData": {
                    "token-id": id_,
                    "token-secret": secret,
                    "usage-bootstrap-authentication": "true",
                    "auth-extra-groups": f"{BOOTSTRAPPERS},{BOOTSTRAPPERS}:host:{host}",
                },
            },
        )

    def answer(self, posted: dict[str, Any]) -> dict[str, Any]:
        """Return the request once it is decided and, if granted, signed."""
        name = posted["metadata"]["name"]

        def decided() -> dict[str, Any] | None:
            _, found = self.admin.ask("GET", f"{REQUESTS}/{name}")
            status = found.get("status", {})
            refused = [each for each in status.get("conditions", []) if each["type"] in ("Denied", "Failed")]
            return found if refused or status.get("certificate") else None

        found: dict[str, Any] = eventually(decided, what=f"{name} is decided on")
        return found

    def granted(self, caller: Caller, document: dict[str, Any]) -> str:
        """Make a request and return the certificate that is granted."""
        caller.post(REQUESTS, document)
        status = self.answer(document)["status"]
        assert "certificate" in status, status
        return base64.b64decode(status["certificate"]).decode()

    def refused(self, caller: Caller, document: dict[str, Any]) -> str:
        """Make a request and return the reason of its refusal. An Event must repeat the reason."""
        caller.post(REQUESTS, document)
        answer = self.answer(document)
        [condition] = answer["status"]["conditions"]
        assert "certificate" not in answer["status"]
        assert condition["type"] == "Denied"

        def told() -> bool:
            _, events = self.admin.ask("GET", "/api/v1/namespaces/default/events")
            return any(
                event["reason"] == "NodeRequestDenied"
                and event["involvedObject"]["name"] == document["metadata"]["name"]
                and condition["message"] in event["message"]
                for event in events["items"]
            )

        eventually(told, what="there is an Event")
        return str(condition["reason"])

    def join(self, name: str, *, caller: Caller | None = None) -> Caller:
        """Join as a machine does first, by proof or as ``caller``; return the caller with the new certificate."""
        own = kubelets.key()
        document = kubelets.document(kubelets.csr(name, own))
        if caller is None:
            certificate = self.granted(self.service, kubelets.noted(document, name))
        else:
            certificate = self.granted(caller, document)
        pem = self.folder / f"{name}.pem"
        pem.write_text(certificate + kubelets.key_pem(own))
        return Caller(self.base, self.trust, pem=pem)

    def register(self, name: str, site: str, *, caller: Caller) -> None:
        """Create the Node, as a machine does next."""
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"longhaul.dev/site": site}}}
        caller.post("/api/v1/nodes", node)

    def lease(self, name: str, *, caller: Caller) -> None:
        """Create the Lease, which a kubelet renews every ten seconds."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
        lease["spec"] = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}  # type: ignore[assignment]
        caller.post("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", lease)

    def node(self, name: str) -> dict[str, Any] | None:
        status, found = self.admin.ask("GET", f"/api/v1/nodes/{name}")
        return found if status == 200 else None


@contextmanager
def running(folders: pytest.TempPathFactory) -> Iterator[World]:
    """Run a cluster and its node controller; the controller has not failed when the block ends."""
    folder = folders.mktemp("machines")
    binaries = tools.ensure(["etcd", "kubernetes"], log_dir=folders.mktemp("tools"), progress=print)
    with FakeVault() as vault, pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "SETTLE_S", 1.0)
        control = Control(folder, vault, members=1, tools=binaries)
        try:
            for place in control.places.values():
                place.write()
            machines = Machines(control, folder)
            machines.start_etcd(MAIN)
            machines.start_etcd(EVENTS)
            machines.start_api()
            eventually(machines.api_ready, what="the API server is ready")
            world = World(machines, folder)
            world.prepare()
            machines.start_node_signer()
            controller = world.controller()
            controller.start()
            yield world
            controller.stop()
            assert world.failed == []
        finally:
            control.close()
