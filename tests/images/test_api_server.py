"""A real API server machine before two real stores, as its units start it."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import api_checks
import etcd_endpoints
import pytest
import store_checks
from node_config import client_url

from components.model.health import READY_PATH
from lab import tools
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, environment_file, eventually

pytestmark = pytest.mark.lab

MAIN, EVENTS, API = "lab-etcd-0", "lab-events-0", "lab-api-0"
UNITS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")


class Client:
    """Requests to the API server, as nobody or as the administrator."""

    def __init__(self, control: Control, folder: Path) -> None:
        self.base = f"https://127.0.0.1:{control.environment.control_plane.api.port}"
        trust = control.vault.secrets["trust-kubernetes"]
        self.anonymous = ssl.create_default_context(cadata=trust)
        self.administrator = ssl.create_default_context(cadata=trust)
        value = json.loads(control.vault.secrets["operator-admin"])
        pem = folder / "admin.pem"
        pem.write_text(value["certificate"] + value["key"])
        self.administrator.load_cert_chain(pem)

    def status(self, path: str, *, anonymous: bool = False) -> int:
        try:
            return int(self._open("GET", path, None, self.anonymous if anonymous else self.administrator)[0])
        except OSError:
            return 0

    def post(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        status, body = self._open("POST", path, json.dumps(document).encode(), self.administrator)
        assert status in (200, 201), body
        return dict(json.loads(body))

    def get(self, path: str) -> dict[str, Any]:
        status, body = self._open("GET", path, None, self.administrator)
        assert status == 200, body
        return dict(json.loads(body))

    def _open(self, method: str, path: str, body: bytes | None, context: ssl.SSLContext) -> tuple[int, str]:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data=body, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, context=context, timeout=20) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


class Machines:
    """The control plane, started."""

    def __init__(self, control: Control, folder: Path) -> None:
        self.control = control
        self.client = Client(control, folder)

    def start_store(self, name: str) -> None:
        place = self.control[name]
        place.prepare()
        place.start_etcd()
        eventually(lambda: _member_ready(place), what=f"{name} is ready")

    def start_api(self) -> None:
        place = self.control[API]
        stores = {name: etcd_endpoints.servers(place.node.stores[name], place.etcdctl) for name in ("etcd", "events")}
        variables = environment_file(etcd_endpoints.environment(stores["etcd"], stores["events"]))
        variables |= environment_file(place.path("/etc/longhaul/kube-apiserver.env").read_text())
        key, public = (
            place.path("/etc/longhaul/pki/service-account.key"),
            place.path("/run/longhaul-api/service-account.pub"),
        )
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
        command = place.unit_command("kube-apiserver.service", variables)
        # Stops at once here; nothing drains.
        place.start("kube-apiserver", [*command, "--shutdown-delay-duration=0s"], {})

    def api_ready(self) -> bool:
        return self.control[API].running("kube-apiserver") and self.client.status(READY_PATH) == 200

    def start_controllers(self) -> None:
        place = self.control[API]
        for unit in UNITS[1:]:
            place.start(unit, place.unit_command(f"{unit}.service", {}), {})

    def keys(self, store: str) -> list[str]:
        """The store's keys."""
        answer = self.control[store].etcdctl.run(self._url(store), "get", "/", "--prefix", "--keys-only")
        return [base64.b64decode(item["key"]).decode() for item in answer.get("kvs", [])]

    def value(self, store: str, key: str) -> bytes:
        answer = self.control[store].etcdctl.run(self._url(store), "get", key)
        return base64.b64decode(answer["kvs"][0]["value"])

    def _url(self, store: str) -> str:
        return client_url(self.control[store].node.address)


def _member_ready(place: Place) -> bool:
    return all(check.ok for check in store_checks.checks(place.node, place.etcdctl))


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
            machines.start_store(MAIN)
            machines.start_store(EVENTS)
            machines.start_api()
            eventually(machines.api_ready, what="the API server is ready")
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

    eventually(checks, what="API server, controller-manager and scheduler are well")


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
    eventually(lambda: machines.client.status("/api/v1/namespaces/default") == 200, what="the default namespace exists")
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

    def audited() -> list[dict[str, Any]]:
        entries = [json.loads(line) for line in log.read_text().splitlines()]
        return [entry for entry in entries if (entry.get("objectRef") or {}).get("resource") == "configmaps"]

    eventually(audited, what="the write is in the audit log")
    entries = [json.loads(line) for line in log.read_text().splitlines()]
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
        machines.start_store(EVENTS)
