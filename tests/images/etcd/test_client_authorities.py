"""Access to an etcd cluster, with real etcd and the certificates that the program plans."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from socket import create_connection

import pytest

from contract.paths import PKI
from contract.ports import ETCD_CLIENT_PORT, ETCD_PEER_PORT
from lab import tools
from tests.images.etcd.test_membership import found, ready
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, eventually

pytestmark = pytest.mark.loopback

MEMBERS = FIRST, SECOND, THIRD = ("lab-etcd-0", "lab-etcd-1", "lab-etcd-2")
EVENTS, SERVER = "lab-events-0", "lab-api-0"
PORTS = (ETCD_CLIENT_PORT, ETCD_PEER_PORT)
QUESTION = b"GET /version HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n"
"""Request that etcd answers everybody whose certificate it takes."""


@pytest.fixture(name="binaries", scope="module")
def _binaries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return tools.ensure(["etcd"], log_dir=tmp_path_factory.mktemp("tools"), progress=print)


@pytest.fixture(name="control")
def _control(tmp_path: Path, vault: FakeVault, binaries: dict[str, Path]) -> Iterator[Control]:
    control = Control(tmp_path, vault, members=3, tools=binaries)
    yield control
    control.close()


def opens(place: Place, certificate: Path | None, port: int = ETCD_CLIENT_PORT) -> bool:
    """Return whether etcd on a machine answers who shows this certificate, whoever etcd itself is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate)
    with create_connection((place.node.address, port), timeout=30) as plain:
        try:
            # With TLS 1.3 the refusal comes after the client's part of the handshake, and ends its first question.
            with context.wrap_socket(plain) as connection:
                connection.sendall(QUESTION)
                return connection.recv(12) == b"HTTP/1.1 200"
        except (ssl.SSLError, ConnectionError):
            return False


def pairs(place: Place) -> dict[str, Path]:
    """Return every certificate that lies on a machine with its key, by name."""
    found = place.path(PKI).glob("*.pem")
    return {path.stem: path for path in found if "BEGIN CERTIFICATE" in path.read_text(encoding="utf-8")}


def test_what_lies_on_a_machine_opens_no_etcd_cluster_but_its_own(control: Control) -> None:
    for name in (FIRST, EVENTS, SERVER):
        control[name].write()
    found(control)
    control[EVENTS].prepare()
    control[EVENTS].start_etcd()
    eventually(lambda: ready(control[EVENTS]), what="the events cluster is ready")
    clusters = {"etcd": control[FIRST], "events": control[EVENTS]}
    tried = {
        (holder, name, cluster, port): opens(member, path, port)
        for holder in (FIRST, EVENTS, SERVER)
        for name, path in pairs(control[holder]).items()
        for cluster, member in clusters.items()
        for port in PORTS
    }
    assert {(holder, name) for holder, name, _, _ in tried if holder != SERVER} == {
        (holder, name) for holder in (FIRST, EVENTS) for name in ("member", "client")
    }
    assert {key for key, answered in tried.items() if answered} == {
        *((FIRST, name, "etcd", port) for name in ("member", "client") for port in PORTS),
        *((EVENTS, name, "events", port) for name in ("member", "client") for port in PORTS),
        *((SERVER, "etcd-client", cluster, ETCD_CLIENT_PORT) for cluster in clusters),
    }
    assert not any(opens(member, None, port) for member in clusters.values() for port in PORTS)
