"""A machine's way from its metadata to a Node in a real cluster: STS of the lab's AWS, a real API server, join
endpoint, node controller and signer. Thieves are refused."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from join_endpoint.aws import AwsProofs
from join_endpoint.https_listener import Server
from join_endpoint.join_requests import COMPONENT, JoinEndpoint
from kubelet import registration as node_registered
from kubelet.registration import CACHED
from node import attest as node_attest
from node import checks as worker_checks
from node.attest import JoinPaths, ProofRequest

from components.model import load, plan
from contract.documents.node import JoinSettings
from contract.kubernetes.events import Events
from contract.kubernetes.machine import MachineApi
from lab import tools
from services.metrics import ServiceMetrics
from services.node_controller import judge
from services.node_controller.controller import Controller
from services.node_controller.inventory import Inventory
from services.node_controller.metrics import METRICS
from tests.images import kubelets
from tests.images.aws_pool import STRANGERS, AwsPool, aws_pool
from tests.images.node.test_checks import WORKER
from tests.services.node_controller.rights import rights
from tests.services.node_controller.world import ENVIRONMENT, REQUESTS, Caller, Cloud
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.hosts import STACKS

pytestmark = pytest.mark.engine

TOOLS = ["etcd", "kubernetes"]
SERVICE = "join.lab.internal"


@dataclass(frozen=True, kw_only=True)
class Joining:
    """All services that a machine uses to join."""

    cluster: ApiServer
    pool: AwsPool
    cloud: Cloud
    settings: JoinSettings
    service: Caller
    """Caller with the identity of the join endpoint itself."""

    def paths(self, folder: Path) -> JoinPaths:
        """Return the paths of one machine."""
        return JoinPaths(
            key=folder / "join.key",
            folder=folder / "pki",
            kubeconfig=folder / "kubeconfig",
            authority=self.cluster.folder / "ca.crt",
        )

    def join(self, folder: Path, *, group: str = "pool", node: str = "", **stolen: str) -> JoinPaths:
        """Join as a machine of ``group``, which claims the name ``node`` if given. ``stolen``: changes to the question,
        for a proof that was made for another one."""
        paths = self.paths(folder)

        def prove(asked: ProofRequest) -> Mapping[str, object]:
            return self.pool.prove(replace(asked, **stolen), group=group)

        node_attest.join(node or self.pool.machine(group), self.settings, prove, paths=paths)
        return paths

    def events(self, reason: str) -> list[str]:
        """Return the messages of the events with ``reason``."""
        found = self.cluster.get("events", "--namespace=default")["items"]
        return [event["message"] for event in found if event["reason"] == reason]

    def requests(self) -> int:
        """Return the number of requests."""
        return len(self.cluster.get("csr")["items"])


def api(cluster: ApiServer, certificate: Path) -> MachineApi:
    url = f"https://127.0.0.1:{cluster.port}"
    return MachineApi(url, authority=cluster.folder / "ca.crt", certificate=certificate, timeout_s=60)


def controller(cluster: ApiServer, cloud: Cloud, failed: list[str]) -> Controller:
    def build(_: Any, *, changed: Any, stop: Any) -> dict[str, Inventory]:
        return {"use1": Inventory(cloud, changed=changed)}

    return Controller(
        api(cluster, cluster.pem("longhaul:node-controller")),
        instance="lab-api-0",
        metrics=ServiceMetrics(METRICS),
        build=build,
        fail=partial(failed.append, "a part of the controller failed; its log says why"),
    )


@pytest.fixture(name="joining", scope="module")
def _joining(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joining]:
    folder = tmp_path_factory.mktemp("joining")
    binaries = tools.ensure(TOOLS, log_dir=folder, progress=print)
    services = plan(load(STACKS / "Pulumi.lab.yaml")).services
    (folder / "cluster").mkdir()
    failed: list[str] = []
    with (
        api_server(folder / "cluster", tools=binaries, services=services) as cluster,
        aws_pool(folder) as pool,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(judge, "SETTLE_S", 1.0)
        prepare(cluster)
        cluster.start_node_signer()
        certificate = cluster.pem("longhaul:join", server_name=SERVICE)
        cloud, own = Cloud(), api(cluster, certificate)
        work = controller(cluster, cloud, failed)
        work.start()
        events = Events(own, instance="lab-api-0", component=COMPONENT)
        endpoint = JoinEndpoint(own, verifiers={"aws": AwsProofs()}, events=events)
        server = Server(("127.0.0.1", 0), endpoint, certificate=certificate)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        trust = (cluster.folder / "ca.crt").read_text()
        yield Joining(
            cluster=cluster,
            pool=pool,
            cloud=cloud,
            settings=JoinSettings(address="127.0.0.1", port=server.server_address[1], name=SERVICE, cluster="lab"),
            service=Caller(f"https://127.0.0.1:{cluster.port}", trust, pem=certificate),
        )
        server.shutdown()
        server.server_close()
        work.stop()
        assert failed == []


def prepare(cluster: ApiServer) -> None:
    """Create what the objects stack creates."""
    for name in ("default", "kube-system", "kube-node-lease"):
        eventually(partial(cluster.kubectl, "get", "namespace", name, "--output=name", check=False), what=f"{name}")
    for path, document in rights():
        cluster.kubectl("create", "--raw", path, "--filename=-", stdin=json.dumps(document))
    inside = {"name": "longhaul-environment", "namespace": "kube-system"}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": inside}
    document["data"] = {"environment.json": json.dumps(ENVIRONMENT)}  # type: ignore[assignment]
    cluster.kubectl("create", "--filename=-", stdin=json.dumps(document))


def test_a_machine_that_is_in_no_list_is_nobody(joining: Joining, tmp_path: Path) -> None:
    """This runs before any machine is in the list."""
    with pytest.raises(node_attest.JoinRefusedError, match="UnknownMachine"):
        joining.join(tmp_path)
    assert any("UnknownMachine" in message for message in joining.events("NodeRequestDenied"))


def test_a_machine_becomes_the_node_that_it_is_and_its_name_is_then_taken(joining: Joining, tmp_path: Path) -> None:
    name = joining.cloud.put(joining.pool.machine(), "10.65.128.4")
    paths = joining.join(tmp_path / "machine")
    trust = paths.authority.read_text()
    kubelet = Caller(f"https://127.0.0.1:{joining.cluster.port}", trust, pem=paths.current)
    assert kubelet.who()["username"] == f"system:node:{name}"
    assert "system:nodes" in kubelet.who()["groups"]
    # The kubelet renews with the certificate that it has.
    renewal = kubelets.document(kubelets.csr(name, kubelets.key()))
    kubelet.post(REQUESTS, renewal)
    own = renewal["metadata"]["name"]
    eventually(lambda: joining.cluster.get("csr", own)["status"].get("certificate"), what="a renewal is signed")
    # A thief with the machine's identity comes too late, even before there is a Node.
    with pytest.raises(node_attest.JoinRefusedError, match="NameIsTaken"):
        joining.join(tmp_path / "thief")
    assert any("NameIsTaken" in message for message in joining.events("NodeRequestDenied"))
    assert_it_is_told_of_its_own_node(joining.cluster, name, paths, kubelet)


def assert_it_is_told_of_its_own_node(cluster: ApiServer, name: str, paths: JoinPaths, kubelet: Caller) -> None:
    """Check that a node, and it alone, is told whether its Node exists: before, while and after there is one."""
    certificates = worker_checks.WorkerPaths(certificate=paths.current, authority=paths.authority)
    worker = replace(WORKER, api=f"https://127.0.0.1:{cluster.port}")

    def told(who: str) -> tuple[bool, bool]:
        cached, exact = (node_registered.is_gone(certificates, worker, who, query=query) for query in (CACHED, ""))
        return cached, exact

    eventually(lambda: told(name) == (True, True), what="there is no Node yet")
    kubelet.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    eventually(lambda: told(name) == (False, False), what="it is registered")
    cluster.kubectl("delete", "node", name)
    eventually(lambda: told(name) == (True, True), what="it is deleted")
    assert told("i-0bbbbbbbbbbbbbbbb") == (False, False), "a refusal to tell is no absence"


def test_a_machine_of_ours_cannot_be_another(joining: Joining, tmp_path: Path) -> None:
    other = joining.cloud.put("i-0fedcba9876543210", "10.65.128.5")
    with pytest.raises(node_attest.JoinRefusedError, match="WrongMachine"):
        joining.join(tmp_path, node=other)
    assert any("WrongMachine" in message for message in joining.events("NodeRequestDenied"))
    assert not joining.paths(tmp_path).current.exists()


@pytest.mark.parametrize(
    ("group", "stolen", "reason"),
    [
        (STRANGERS, {}, "ForeignProof"),
        ("pool", {"fingerprint": "ab" * 32}, "ForgedProof"),
        ("pool", {"challenge": "0123456789"}, "ForgedProof"),
        ("pool", {"cluster": "prod"}, "ForgedProof"),
    ],
    ids=["role", "key", "challenge", "cluster"],
)
def test_a_proof_that_is_not_one_makes_no_request(
    joining: Joining, tmp_path: Path, group: str, stolen: dict[str, str], reason: str
) -> None:
    """An event shows the attempt to everyone."""
    before, machine = joining.requests(), joining.pool.machine(group)
    with pytest.raises(node_attest.JoinRefusedError, match=reason):
        joining.join(tmp_path, group=group, **stolen)
    assert joining.requests() == before
    refused = joining.events("NodeProofRefused")
    assert any(message.startswith(f"{reason}: asked from 127.0.0.1 as {machine}") for message in refused)


def test_the_service_itself_can_approve_nothing(joining: Joining) -> None:
    name = "i-0000000000000beef"
    joining.service.post(REQUESTS, kubelets.noted(kubelets.document(kubelets.csr(name, kubelets.key())), name))
    posted = joining.cluster.get("csr")["items"][-1]
    for part in ("approval", "status"):
        path = f"{REQUESTS}/{posted['metadata']['name']}/{part}"
        assert joining.service.ask("PUT", path, posted)[0] == 403
    for path in ("/api/v1/nodes", "/api/v1/namespaces/kube-system/secrets", REQUESTS):
        assert joining.service.ask("GET", path)[0] == 403


def test_what_was_given_is_for_one_name_alone(joining: Joining) -> None:
    found = [item for item in joining.cluster.get("csr")["items"] if item.get("status", {}).get("certificate")]
    assert found
    for item in found:
        certificate = x509.load_pem_x509_certificate(base64.b64decode(item["status"]["certificate"]))
        assert certificate.subject.rfc4514_string() == f"CN=system:node:{joining.pool.machine()},O=system:nodes"
