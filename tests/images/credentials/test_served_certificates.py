"""Certificates on a machine's ports, beside those of its files."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from credentials import inventory as credentials
from credentials import served_certificates
from join_endpoint.https_listener import HttpConnection, Server

from components.control_plane import issuing
from contract.documents.node import NodeConfig
from longhaul.rotate.servers import digests
from tests.support.ports import free_ports

AUTHORITY = issuing.new_authority(common_name="a", days=1, key=issuing.new_key())


def certificate() -> str:
    subject = issuing.Subject(common_name="kube-apiserver", usages=["server"], days=1)
    pair = issuing.issue(subject, authority=AUTHORITY)
    return pair.certificate + pair.key


@contextmanager
def listening(port: int, shows: Path) -> Iterator[None]:
    """Show a file's certificate on a port of loopback."""
    endpoint: Any = None
    with Server(("127.0.0.1", port), endpoint, certificate=shows, handler=HttpConnection) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield
        server.shutdown()
        thread.join()


@pytest.fixture(name="node")
def _node() -> NodeConfig:
    port, join = free_ports(2)
    return NodeConfig(
        machine="e-api-0",
        role="api",
        index=0,
        address="127.0.0.1",
        version="1.2.3",
        stores={},
        port=port,
        join_port=join,
    )


@pytest.fixture(name="pki")
def _pki(tmp_path: Path) -> Path:
    folder = tmp_path / "pki"
    folder.mkdir()
    (folder / "apiserver.pem").write_text(certificate())
    return folder


def test_a_port_tells_what_its_program_shows_whatever_the_file_has(node: NodeConfig, pki: Path, tmp_path: Path) -> None:
    former = tmp_path / "former.pem"
    former.write_text(certificate())
    assert served_certificates.served_certificates(node, pki=pki) == {}, "nobody listens"
    with listening(node.port, former):
        found = served_certificates.served_certificates(node, pki=pki)
        assert found == {"apiserver.pem": digests(former.read_text())}
        assert served_certificates.files_not_served(found, pki) == ("apiserver.pem",)
        former.write_text((pki / "apiserver.pem").read_text())
        assert served_certificates.files_not_served(served_certificates.served_certificates(node, pki=pki), pki) == ()


def test_a_port_that_tells_nothing_is_no_proof(node: NodeConfig, pki: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_certificates, "TIMEOUT_S", 0.1)
    with socket.create_server(("127.0.0.1", node.port)):
        found = served_certificates.served_certificates(node, pki=pki)
    assert found == {"apiserver.pem": (served_certificates.UNKNOWN,)}
    assert served_certificates.files_not_served(found, pki) == ("apiserver.pem",)


def test_both_ports_of_a_member_show_its_one_certificate(
    node: NodeConfig, pki: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer, client = free_ports(2)
    monkeypatch.setattr(served_certificates, "ETCD_PEER_PORT", peer)
    monkeypatch.setattr(served_certificates, "ETCD_CLIENT_PORT", client)
    member = dataclasses.replace(node, role="events")
    (pki / "member.pem").write_text(certificate())
    with listening(peer, pki / "member.pem"), listening(client, pki / "apiserver.pem"):
        found = served_certificates.served_certificates(member, pki=pki)
    assert found == {
        "member.pem": tuple(digests((pki / one).read_text())[0] for one in ("apiserver.pem", "member.pem"))
    }
    assert served_certificates.files_not_served(found, pki) == ("member.pem",)


def test_a_machine_has_not_taken_over_what_it_does_not_show(
    node: NodeConfig, pki: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for its program, and says after that time what the port shows."""
    shows = tmp_path / "shown.pem"
    shows.write_text(certificate())
    waits = list[float]()

    def read(seconds: float) -> None:
        waits.append(seconds)
        shows.write_text((pki / "apiserver.pem").read_text())

    monkeypatch.setattr(credentials, "COPIED", dict.fromkeys(credentials.COPIED, ()))
    with listening(node.port, shows):
        monkeypatch.setattr(credentials, "SHOWS_S", 0.0)
        former = credentials.take_over(node, frontend="", pki=pki, etcdctl=None)
        assert former.shown == {"apiserver.pem": digests(shows.read_text())}
        assert former.shown["apiserver.pem"] != former.files["apiserver.pem"]
        monkeypatch.setattr(credentials, "SHOWS_S", 60.0)
        monkeypatch.setattr("machine.polling.time.sleep", read)
        found = credentials.take_over(node, frontend="", pki=pki, etcdctl=None)
    assert (len(waits), found.shown["apiserver.pem"]) == (1, found.files["apiserver.pem"])
