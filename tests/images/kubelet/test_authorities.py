"""A node believes the authorities that the cluster publishes, says so, and never shuts itself out."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from credentials.digests import digests
from kubelet import authorities as node_authorities
from kubelet.authorities import PUBLISHED, Authorities
from node import checks as worker_checks

from components.control_plane import issuing
from contract.annotations import AUTHORITIES, AUTHORITIES_BOOT
from contract.documents.node import Worker
from contract.kubernetes.connection import ApiError
from contract.kubernetes.machine import MachineApi
from contract.units import KUBELET
from longhaul.rotate import servers
from tests.images.node.test_checks import WORKER

OBJECT = "/api/v1/nodes/n"


def authority() -> issuing.Pair:
    return issuing.new_authority(common_name="lab Kubernetes", days=1, key=issuing.new_key())


class Cluster(ThreadingHTTPServer):
    """An API server, and systemd on the node that asks it."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.first, self.second = folder, authority(), authority()
        self.published = self.first.certificate
        self.annotations: dict[str, str] = {}
        self.ran: list[list[str]] = []
        self.starts = True
        """False when a start of the kubelet fails."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.show(self.first)
        self.socket = self.context.wrap_socket(self.socket, server_side=True)
        self.file, self.used = folder / "kubernetes-ca.crt", folder / "used.crt"
        self.boot = folder / "boot_id"
        self.boot.write_text("first\n")
        self.file.write_text(self.first.certificate)
        self.used.write_text(self.first.certificate)

    def show(self, signer: issuing.Pair) -> None:
        """Have the server show a certificate of another authority."""
        said = issuing.Subject(common_name="api", addresses=["127.0.0.1"], usages=["server", "client"], days=1)
        pair, pem = issuing.issue(said, authority=signer), self.folder / "server.pem"
        pem.write_text(pair.certificate + pair.key)
        self.context.load_cert_chain(pem)

    def run(self, words: Sequence[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        self.ran.append(list(words))
        if self.starts:
            self.used.write_text(self.file.read_text())
        return subprocess.CompletedProcess(words, int(check or not self.starts))

    def follow(self) -> None:
        """Have the node's timer come once."""
        pem = self.folder / "server.pem"
        api = MachineApi(f"https://127.0.0.1:{self.server_port}", authority=self.file, certificate=pem)
        Authorities(api=api, node="n", used=self.used, boot=self.boot).follow()

    @property
    def told(self) -> str | None:
        return self.annotations.get(AUTHORITIES)

    @property
    def both(self) -> str:
        return self.first.certificate + self.second.certificate


class Handler(BaseHTTPRequestHandler):
    """Answers as kube-apiserver does."""

    server: Cluster

    def do_GET(self) -> None:
        path, objects = urlsplit(self.path).path, {}
        objects[PUBLISHED] = {"data": {"ca.crt": self.server.published + "\n"}}
        objects[OBJECT] = {"metadata": {"annotations": self.server.annotations}}
        self._answer(objects[path])

    def do_PATCH(self) -> None:
        assert self.path == OBJECT
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.annotations |= body["metadata"]["annotations"]
        self._answer(body)

    def _answer(self, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture(name="cluster")
def _cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with Cluster(tmp_path) as cluster:
        monkeypatch.setattr(node_authorities.subprocess, "run", cluster.run)
        thread = threading.Thread(target=cluster.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield cluster
        cluster.shutdown()
        thread.join()


def test_it_says_what_it_believes_and_starts_nothing_anew(cluster: Cluster) -> None:
    cluster.follow()
    assert cluster.told == servers.digests(cluster.first.certificate)[0]
    cluster.annotations.clear()
    cluster.follow()
    assert (cluster.told is None, cluster.ran) == (False, [])


def test_it_says_it_again_after_each_start_of_its_machine(cluster: Cluster) -> None:
    for boot in ("first", "second"):
        cluster.boot.write_text(f"{boot}\n")
        cluster.follow()
        assert cluster.annotations[AUTHORITIES_BOOT] == boot


def test_it_follows_an_authority_that_is_replaced(cluster: Cluster) -> None:
    for published, shown in ((cluster.both, cluster.second), (cluster.second.certificate, cluster.second)):
        cluster.published = published
        cluster.follow()
        assert cluster.file.read_text() == cluster.used.read_text() == published
        assert cluster.told == ",".join(digests(published))
        cluster.show(shown)
    assert cluster.ran == [["systemctl", "try-restart", KUBELET]] * 2
    assert (cluster.file.stat().st_mode & 0o777, list(cluster.folder.glob(".*"))) == (0o444, [])


@pytest.mark.parametrize("published", ["", "no certificate", "another", "many"])
def test_it_believes_nothing_by_which_it_would_know_no_server(cluster: Cluster, published: str) -> None:
    others = {"another": cluster.second.certificate, "many": cluster.both * 2}
    cluster.published = others.get(published, published)
    with pytest.raises((ApiError, ValueError)):
        cluster.follow()
    assert cluster.file.read_text() == cluster.first.certificate
    assert (cluster.told, cluster.ran, list(cluster.folder.glob(".*"))) == (None, [], [])


def test_it_writes_nothing_but_certificates(cluster: Cluster) -> None:
    """OpenSSL takes blocks of this name for authorities as well, and no digest tells of them."""
    trusted = authority().certificate.replace(" CERT", " TRUSTED CERT")
    cluster.published = cluster.first.certificate + trusted + cluster.second.certificate
    cluster.follow()
    assert cluster.file.read_text() == cluster.both


def test_it_says_nothing_that_its_kubelet_does_not_use(cluster: Cluster) -> None:
    """Also when it was killed between its two steps."""
    cluster.follow()
    former, cluster.starts, cluster.published = cluster.told, False, cluster.both
    for _ in range(2):
        cluster.follow()
        assert cluster.told == former
    cluster.starts = True
    cluster.follow()
    assert cluster.told == ",".join(digests(cluster.both))


@pytest.mark.parametrize("joined", [True, False])
def test_a_node_that_is_answered_by_nobody_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, joined: bool
) -> None:
    paths = worker_checks.WorkerPaths(
        environment=tmp_path / "node.env", certificate=tmp_path / "c.pem", authority=tmp_path / "ca.crt"
    )
    paths.environment.write_text("NODE_NAME=n\n")
    paths.authority.write_text(authority().certificate)
    if joined:
        paths.certificate.touch()
    monkeypatch.setattr(worker_checks, "WorkerPaths", lambda: paths)
    monkeypatch.setattr(Worker, "read", lambda: WORKER)
    assert node_authorities.main() == 0
    assert ("the authorities stay as they are" in capsys.readouterr().err) == joined


def test_the_kubelet_starts_with_a_copy_that_is_its_own(root: Path) -> None:
    unit = (root / "images/rootfs/etc/systemd/system/kubelet.service").read_text()
    used, file = Authorities.used, "/etc/longhaul/pki/kubernetes-ca.crt"
    assert f"ExecStartPre=/usr/bin/install -m 0444 {file} {used}\n" in unit
    assert f"RuntimeDirectory={used.parent.name}\n" in unit
