"""A real API server machine and two real etcd clusters, started as their units start them."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from etcd import checks as etcd_checks
from kube_apiserver import etcd_endpoints
from machine.config import client_url

from components.model.control_plane.health import READY_PATH
from tests.images.machines import ROOTFS, Control, Place, environment_file, eventually
from tests.support.api_server import as_nobody
from tests.support.ports import free_ports

MAIN, EVENTS, API = "lab-etcd-0", "lab-events-0", "lab-api-0"
UNITS = ("kube-apiserver", "kube-controller-manager", "kube-node-signer", "kube-scheduler")


class Client:
    """Requests to the API server, anonymous or as the administrator."""

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
        except (OSError, http.client.HTTPException):
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
            with urllib.request.urlopen(request, context=context, timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


class Machines:
    """The running machines of the control plane."""

    def __init__(self, control: Control, folder: Path) -> None:
        self.control = control
        self.client = Client(control, folder)

    def start_etcd(self, name: str) -> None:
        place = self.control[name]
        place.prepare()
        place.start_etcd()
        eventually(lambda: _member_ready(place), what=f"{name} is ready")

    def start_api(self, *, as_root: bool = False) -> None:
        """``as_root``: by the user of this process, in place of one with inotify instances of its own."""
        place = self.control[API]
        main = etcd_endpoints.servers(place.node.stores["etcd"], place.etcdctl)
        events = etcd_endpoints.events(place.node.stores["events"], place.etcdctl)
        variables = environment_file(etcd_endpoints.environment(main, events))
        variables |= environment_file(place.path("/etc/longhaul/kube-apiserver.env").read_text())
        place.copy("kube-apiserver.service")
        command = place.unit_command("kube-apiserver.service", variables)
        # Without a delay at shutdown: nothing drains here.
        place.start("kube-apiserver", [*(() if as_root else as_nobody()), *command, "--shutdown-delay-duration=0s"], {})

    def api_ready(self) -> bool:
        return self.control[API].running("kube-apiserver") and self.client.status(READY_PATH) == 200

    def start_node_signer(self) -> None:
        """Start the signer on a port of its own, beside other tests' API servers."""
        self._start_unit("kube-node-signer", f"--secure-port={free_ports(1)[0]}")

    def start_controllers(self) -> None:
        place = self.control[API]
        for unit in UNITS[1:]:
            self._start_unit(unit)
        join = [ROOTFS / "usr/local/lib/longhaul/longhaul-program", "join_endpoint.unit"]
        paths = ["--node", place.path("/etc/longhaul/node.json"), "--pki", place.path("/etc/longhaul/pki")]
        place.start("join", [sys.executable, "-B", *map(str, [*join, *paths]), "--address", "127.0.0.1"], {})
        for service in ("node_controller", "autoscaler"):
            words = [sys.executable, "-B", "-m", f"services.{service}.unit", *map(str, paths)]
            place.start(service.replace("_", "-"), words, {})

    def restart_controller_manager(self) -> None:
        self.control[API].stop(UNITS[1])
        self._start_unit(UNITS[1])

    def _start_unit(self, name: str, *more: str) -> None:
        """Start a unit's program; of a flag that is there twice, the last counts."""
        place = self.control[API]
        place.copy(f"{name}.service")
        place.start(name, [*as_nobody(), *place.unit_command(f"{name}.service", {}), *more], {})

    def keys(self, store: str) -> list[str]:
        """Return the keys in an etcd cluster."""
        answer = self.control[store].etcdctl.run(self._url(store), "get", "/", "--prefix", "--keys-only")
        return [base64.b64decode(item["key"]).decode() for item in answer.get("kvs", [])]

    def value(self, store: str, key: str) -> bytes:
        answer = self.control[store].etcdctl.run(self._url(store), "get", key)
        return base64.b64decode(answer["kvs"][0]["value"])

    def _url(self, store: str) -> str:
        return client_url(self.control[store].node.address)


def _member_ready(place: Place) -> bool:
    return all(check.ok for check in etcd_checks.checks(place.node, place.etcdctl)[1])
