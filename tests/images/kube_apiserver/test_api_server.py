"""A real API server machine with two real etcd clusters, started as their units start them."""

from __future__ import annotations

import json
import ssl
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from kube_apiserver import checks as api_checks
from kubelet.authorities import PUBLISHED

from components.control_plane import issuing
from components.model.control_plane.health import READY_PATH
from contract.object_names import AUTHORITIES_KEY
from lab import tools
from tests.images.api_server import API, EVENTS, MAIN, Machines
from tests.images.fakes import FakeVault
from tests.images.machines import Control, eventually
from tests.services.node_controller.rights import rights
from tests.support.ports import free_ports

pytestmark = pytest.mark.loopback


@pytest.fixture(name="machines", scope="module")
def _machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    folder = tmp_path_factory.mktemp("machines")
    binaries = tools.ensure(["etcd", "kubernetes"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)
    with FakeVault() as vault:
        control = Control(folder, vault, members=1, tools=binaries)
        try:
            for place in control.places.values():
                place.write()
            machines = Machines(control, folder)
            machines.start_etcd(MAIN)
            machines.start_etcd(EVENTS)
            machines.start_api()
            eventually(machines.api_ready, what="the API server is ready")
            for name in ("default", "kube-system"):
                there = lambda path=f"/api/v1/namespaces/{name}": machines.client.status(path) == 200  # noqa: E731
                eventually(there, what=f"the namespace {name} is there")
            machines.start_controllers()
            yield machines
        finally:
            control.close()


def configmap(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


def test_the_machine_is_ready(machines: Machines) -> None:
    place = machines.control[API]

    def checks() -> bool:
        return all(check.ok for check in api_checks.checks(place.node, pki=place.path("/etc/longhaul/pki")))

    eventually(checks, what="all programs of the machine are healthy")


def test_the_machine_is_ready_before_its_queues_have_objects_and_then_waits_for_them(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Their own ports may be those of managers that run for other tests.
    ports = zip(api_checks.QUEUES, free_ports(len(api_checks.QUEUES)), strict=True)
    monkeypatch.setattr(api_checks, "QUEUES", {name: f"http://127.0.0.1:{port}/readyz" for name, port in ports})
    place = machines.control[API]
    node = replace(place.node, queues=True)

    def queues() -> dict[str, bool]:
        found = api_checks.checks(node, pki=place.path("/etc/longhaul/pki"))
        return {check.name: check.ok for check in found if check.name in api_checks.QUEUES}

    assert queues() == {"kueue": True, "jobset": True}
    machines.client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    eventually(lambda: queues() == {"kueue": False, "jobset": True}, what="Kueue is missed")


def definition() -> dict[str, Any]:
    """Return a definition in Kueue's group."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "cohorts.kueue.x-k8s.io"},
        "spec": {
            "group": "kueue.x-k8s.io",
            "names": {"kind": "Cohort", "plural": "cohorts"},
            "scope": "Cluster",
            "versions": [{"name": "v1beta2", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_nobody_reaches_more_than_health(machines: Machines) -> None:
    for path in ("/livez", "/readyz", "/healthz", READY_PATH):
        assert machines.client.status(path, anonymous=True) == 200
    for path in ("/version", "/api", "/apis", "/openapi/v3", "/metrics", "/api/v1/namespaces", "/readyz/etcd"):
        assert machines.client.status(path, anonymous=True) == 401, path


def test_events_and_nothing_else_are_in_the_events_store(machines: Machines) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "a"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "a"},
    }
    machines.client.post("/api/v1/namespaces/default/events", event)
    events, main = machines.keys(EVENTS), machines.keys(MAIN)
    assert "/registry/events/default/a" in events
    assert [key for key in events if not key.startswith("/registry/events/") and key != "compact_rev_key"] == []
    assert [key for key in main if key.startswith("/registry/events/")] == []
    assert "/registry/namespaces/default" in main


def test_secrets_are_encrypted_at_rest(machines: Machines) -> None:
    document = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "plain-value"}}
    machines.client.post("/api/v1/namespaces/default/secrets", document)
    value = machines.value(MAIN, "/registry/secrets/default/s")
    assert value.startswith(b"k8s:enc:secretbox:v1:key1:")
    assert b"plain-value" not in value


def test_service_account_tokens_are_this_clusters(machines: Machines) -> None:
    eventually(
        lambda: machines.client.status("/api/v1/namespaces/default/serviceaccounts/default") == 200,
        what="controller-manager makes the default service account",
    )
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = machines.client.post("/api/v1/namespaces/default/serviceaccounts/default/token", request)["status"]["token"]
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    reviewed = machines.client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)["status"]
    assert reviewed["authenticated"] is True
    environment = machines.control.environment
    issuer = f"https://{environment.api_name}:{environment.control_plane.api.port}"
    assert machines.client.get("/.well-known/openid-configuration")["issuer"] == issuer


def test_the_audit_log_tells_of_writes_without_their_contents(machines: Machines) -> None:
    log = machines.control[API].path("/var/log/kubernetes/audit.log")
    machines.client.post("/api/v1/namespaces/default/configmaps", configmap("audited"))
    machines.client.get("/version")

    def written() -> list[dict[str, Any]]:
        # The last line may be incomplete.
        return [json.loads(line) for line in log.read_text().rpartition("\n")[0].splitlines()]

    def audited() -> list[dict[str, Any]]:
        return [entry for entry in written() if (entry.get("objectRef") or {}).get("resource") == "configmaps"]

    eventually(audited, what="the write is in the audit log")
    entries = written()
    assert not any("requestObject" in entry or "responseObject" in entry for entry in entries)
    assert not any(entry["requestURI"].startswith(("/readyz", "/version")) for entry in entries)
    assert not any((entry.get("objectRef") or {}).get("resource") in ("leases", "events") for entry in entries)


def test_a_renewed_certificate_is_served_without_a_restart(machines: Machines) -> None:
    place, port = machines.control[API], machines.control.environment.control_plane.api.port
    before = ssl.get_server_certificate(("127.0.0.1", port))
    renewed = machines.control.renew(f"{API}-apiserver")
    place.fetch()
    eventually(
        lambda: ssl.get_server_certificate(("127.0.0.1", port)).strip() == renewed.strip() != before.strip(),
        what="the new certificate is served",
    )


def test_without_the_events_store_the_api_server_serves_on(machines: Machines) -> None:
    machines.control[EVENTS].stop("etcd")
    try:
        eventually(lambda: machines.client.status("/readyz") == 500, what="the plain check notices")
        assert machines.client.status(READY_PATH) == 200
        machines.client.post("/api/v1/namespaces/default/configmaps", configmap("no-events"))
        assert machines.client.status(READY_PATH) == 200
    finally:
        machines.start_etcd(EVENTS)


def test_the_node_controller_leads_once_it_may_and_lets_go_when_it_is_stopped(machines: Machines) -> None:
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/longhaul-node-controller"
    place, client = machines.control[API], machines.client
    assert place.running("node-controller")
    for path, document in rights():
        client.post(path, document)
    eventually(lambda: client.status(lease) == 200, what="it has the lease")
    assert client.get(lease)["spec"]["holderIdentity"] == API
    with urllib.request.urlopen("http://127.0.0.1:10261/metrics", timeout=60) as answer:
        assert "longhaul_node_controller_" in answer.read().decode()
    place.stop("node-controller")
    assert client.get(lease)["spec"].get("holderIdentity", "") == ""


def test_a_second_authority_of_servers_is_published_before_a_server_shows_a_certificate_of_it(
    machines: Machines,
) -> None:
    place, client, vault = machines.control[API], machines.client, machines.control.vault.secrets
    address = ("127.0.0.1", machines.control.environment.control_plane.api.port)
    former, new = vault["trust-kubernetes"], issuing.new_authority(common_name="new", days=1, key=issuing.new_key())

    def published() -> tuple[str, ...]:
        return issuing.certificates_in(client.get(PUBLISHED)["data"][AUTHORITIES_KEY])

    eventually(lambda: client.status(PUBLISHED) == 200, what="what is believed is published")
    assert published() == (former,)
    vault["trust-kubernetes"] = former + new.certificate
    place.fetch()
    machines.restart_controller_manager()
    eventually(lambda: published() == (former, new.certificate), what="both are published")
    client.administrator.load_verify_locations(cadata=new.certificate)
    machines.control._issuers["kubernetes"] = new
    machines.control.renew(f"{API}-apiserver")
    place.fetch()
    shown = lambda: issuing.is_issued_by(ssl.get_server_certificate(address), new.certificate)  # noqa: E731
    eventually(shown, what="a certificate of the new one is shown")
    assert published() == (former, new.certificate)
