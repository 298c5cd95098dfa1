"""Access to an etcd cluster, with real etcd and the certificates that the program plans, and the way of members from
0.1.0 there: they opened both etcd clusters."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from socket import create_connection
from typing import Any

import pytest
from node_config import CLIENT_PORT

from components.control_plane import issuing
from components.control_plane.member_clients import MemberClientProvider, OwnClientProvider
from components.model import Certificate, certificates
from components.model.secrets.certificates import ETCD_CLIENT
from components.render.etcd_members import PEER_PORT
from components.render.secrets import PKI
from lab import tools
from tests.images.fakes import FakeVault
from tests.images.machines import Control, Place, eventually
from tests.images.test_membership import await_voters, found, join, lose, ready

pytestmark = pytest.mark.lab

MEMBERS = FIRST, SECOND, THIRD = ("lab-etcd-0", "lab-etcd-1", "lab-etcd-2")
EVENTS, SERVER = "lab-events-0", "lab-api-0"
PORTS = (CLIENT_PORT, PEER_PORT)
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


def opens(place: Place, certificate: Path | None, port: int = CLIENT_PORT) -> bool:
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
        *((SERVER, "etcd-client", cluster, CLIENT_PORT) for cluster in clusters),
    }
    assert not any(opens(member, None, port) for member in clusters.values() for port in PORTS)


class From010:
    """The control plane as 0.1.0 made it, and its upgrade step by step."""

    def __init__(self, control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
        self.control, self.vault = control, control.vault.secrets
        for module in ("certificates", "member_clients"):
            monkeypatch.setattr(f"components.control_plane.{module}.Vault", lambda _url: self)
        planned = certificates(control.environment, control.addresses)
        self.clients = {one.holder: one for one in planned if one.formerly and one.holder in MEMBERS}
        self.states: dict[str, dict[str, Any]] = {}
        for name, client in self.clients.items():
            self.states[name] = MemberClientProvider().make(self._inputs(client, of=ETCD_CLIENT))

    def get(self, name: str) -> str | None:
        """Answer as the components' vault does."""
        return self.vault.get(name)

    def set(self, name: str, value: str, *, content_type: str = "") -> None:
        """Take a secret as the components' vault does."""
        self.vault[name] = value

    def write_old(self, name: str) -> None:
        """Write a member's files as 0.1.0 did: it trusts API servers' authority alone."""
        place = self.control[name]
        place.write()
        config = place.path("/etc/longhaul/secrets.json")
        raw = json.loads(config.read_text())
        (trusted,) = (file for file in raw["files"] if file["path"].endswith("etcd-client-ca.crt"))
        trusted["content"] = f"${{trust-{ETCD_CLIENT}}}\n"
        config.write_text(json.dumps(raw))
        place.fetch()

    def change_certificates(self) -> None:
        """Update the certificates, as `up` does before the machines."""
        for name, client in self.clients.items():
            self.states[name] = MemberClientProvider().update("", self.states[name], self._inputs(client)).outs or {}

    def make_own(self, name: str) -> None:
        """Have a member's certificate of its own authority, as `up` does once all machines are ready."""
        OwnClientProvider().create(self._inputs(self.clients[name]))

    def _inputs(self, client: Certificate, *, of: str = "") -> dict[str, Any]:
        authority = f"ca-{of or client.authority}"
        certificate = json.loads(self.vault[authority])["certificate"]
        lists: dict[str, list[str]] = {"organizations": [], "dns_names": [], "addresses": []}
        return {
            "vault_url": "",
            "secret": client.name,
            "authority_secret": authority,
            "authority_fingerprint": issuing.key_fingerprint(certificate),
            "former_authority_secret": f"ca-{ETCD_CLIENT}",
            "first_client": self.clients[FIRST].name,
            "common_name": client.common_name,
            **lists,
            "usages": ["client"],
            "days": 1,
        }


def test_members_of_0_1_0_are_made_anew_one_by_one_and_their_cluster_goes_on(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = From010(control, monkeypatch)
    control[SERVER].write()
    for name in MEMBERS:
        world.write_old(name)
    found(control)
    join(control, SECOND)
    join(control, THIRD)
    server, own = (pairs(control[name]) for name in (SERVER, FIRST))
    assert not opens(control[SECOND], own["member"]), "a member of 0.1.0 trusts no other authority"

    world.change_certificates()
    for name in MEMBERS:
        lose(control, name)
        control[name].write()
        join(control, name)
        assert all(ready(control[one]) for one in MEMBERS)
        assert all(opens(control[one], server["etcd-client"]) for one in MEMBERS)
    await_voters(control, *MEMBERS)

    for name in MEMBERS:
        world.make_own(name)
        control[name].fetch()  # the others have not yet
        assert all(ready(control[one]) for one in MEMBERS)
    held = {control[name].path(f"{PKI}/client.pem").read_text() for name in MEMBERS}
    assert held == {_pair(world.vault[world.clients[name].name]) for name in MEMBERS}


def _pair(secret: str) -> str:
    value = json.loads(secret)
    return f"{value['certificate']}\n{value['key']}\n"
