"""Refusal of machines in quarantine and of people whose access was revoked: the lists on an API server machine, and a
real kube-apiserver that refuses."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from quarantine import refusal_lists

from components.model import Role, control_machines, load, plan
from components.model.secrets.vault import QUARANTINE, REVOKED
from components.render import api_server_machine as rendered
from components.render.quarantine import AUTHORIZATION, CLIENT, PORT, refusing_client
from contract.documents import quarantine as quarantine_document
from contract.documents import revoked as revoked_document
from contract.documents.quarantine import Quarantine, Quarantined
from contract.documents.refusals import digest_of
from contract.documents.revoked import Revoked, RevokedPerson
from contract.quarantine_list import QuarantineList
from contract.units import KUBE_APISERVER
from lab import tools
from longhaul.toolchain.spec import repository
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.hosts import STACKS

ENVIRONMENT = load(STACKS / "Pulumi.lab.yaml")
ROOTFS = repository() / "images/rootfs"
PROGRAM = ROOTFS / "usr/local/lib/longhaul/longhaul-program"
STOLEN, OTHER = "i-0123456789abcdef0", "i-0fedcba9876543210"


def quarantine(*names: str) -> Quarantine:
    since = "2030-01-01T00:00:00+00:00"
    return Quarantine(machines=tuple(Quarantined(name=name, site="use1", since=since) for name in names))


def revoked(*names: str) -> Revoked:
    return Revoked(
        people=tuple(RevokedPerson(name=name, since="2030-01-01T00:00:00+00:00", by="anna") for name in names)
    )


NOBODY = Revoked()


def content(path: str, held: Quarantine, people: Revoked = NOBODY) -> str:
    """Return one of the machine's files as its program makes it of the vault's secrets."""
    machine = next(one for one in control_machines(ENVIRONMENT, plan(ENVIRONMENT)) if one.role is Role.API)
    (file,) = [one for one in rendered.secret_files(ENVIRONMENT, machine) if one.path == path]
    return file.filled({QUARANTINE: held.text(), REVOKED: people.text()})


def test_the_list_is_read_again_when_it_changes_and_kept_when_it_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "quarantine.json"
    found = QuarantineList(path)
    assert found() == frozenset()
    path.write_text(content(quarantine_document.PATH, quarantine(STOLEN)))
    assert found() == {STOLEN}
    path.write_text("{}")
    assert found() == {STOLEN}
    path.write_text(content(quarantine_document.PATH, quarantine(OTHER, STOLEN)))
    assert found() == {STOLEN, OTHER}
    path.unlink()
    assert found() == frozenset()


def test_a_server_that_does_not_tell_is_not_believed(tmp_path: Path) -> None:
    node: Any = SimpleNamespace(port=1)
    path = tmp_path / "quarantine.json"
    found = refusal_lists.await_refused(node, pki=tmp_path, wanted=digest_of((STOLEN,)), wait_s=0, path=path)
    assert (found.names, found.loaded, bool(found.error)) == ((), False, True)


def test_the_webhook_s_port_is_one_that_only_root_can_take() -> None:
    unit = (ROOTFS / "etc/systemd/system/longhaul-quarantine.socket").read_text()
    assert f"ListenStream=127.0.0.1:{PORT}\n" in unit
    assert PORT < 1024


@dataclass(frozen=True, kw_only=True)
class World:
    """An API server, its webhook, and the file with whom it refuses."""

    server: ApiServer
    file: Path
    webhook: subprocess.Popen[bytes]

    def refuse(self, held: Quarantine, people: Revoked = NOBODY) -> None:
        """Write the file in one step, as the machine's program does."""
        fresh, client = self.file.with_suffix(".new"), str(self.file.parent / "quarantine.kubeconfig")
        fresh.write_text(content(AUTHORIZATION, held, people).replace(CLIENT, client))
        fresh.rename(self.file)

    def says(self, user: Path, *words: str) -> str:
        return self.server.kubectl(*words, kubeconfig=user, check=False)


@pytest.fixture(scope="module", name="world")
def _world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("quarantine")
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    client = json.dumps(refusing_client()).replace(f":{PORT}/", f":{port}/")
    (folder / "quarantine.kubeconfig").write_text(client)
    # As systemd gives it: its third descriptor.
    given = [
        sys.executable,
        "-c",
        f"import os, sys; os.dup2(int(sys.argv[1]), 3); os.execv('{PROGRAM}', ['{PROGRAM}', 'quarantine.webhook'])",
    ]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    webhook = subprocess.Popen([*given, str(listening.fileno())], pass_fds=[listening.fileno()], env=environ)
    listening.close()
    file = folder / "authorization.yaml"
    binaries = tools.ensure(["etcd", "kube-apiserver", "kubectl"], log_dir=folder, progress=print)
    arguments = [f"--authorization-config={file}"]
    server = ApiServer(folder, tools=binaries, services=plan(ENVIRONMENT).services, arguments=arguments)
    found = World(server=server, file=file, webhook=webhook)
    found.refuse(Quarantine())
    try:
        with api_server(folder, tools=binaries, services=plan(ENVIRONMENT).services, arguments=arguments) as started:
            yield World(server=started, file=file, webhook=webhook)
    finally:
        webhook.kill()
        webhook.wait()


def node(world: World, name: str) -> Path:
    return world.server.user(f"system:node:{name}", organizations=("system:nodes",))


MANIFEST = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": STOLEN}}


@pytest.mark.engine
def test_a_stolen_certificate_is_worth_nothing_once_its_machine_is_in_quarantine(world: World) -> None:
    stolen, other = node(world, STOLEN), node(world, OTHER)
    created = world.server.kubectl("create", "-f", "-", kubeconfig=stolen, stdin=json.dumps(MANIFEST))
    assert f"node/{STOLEN} created" in created
    world.refuse(quarantine(STOLEN))
    asked = ("get", "node", STOLEN, "--output=name")
    refusal = "this machine is in quarantine"
    eventually(lambda: refusal in world.says(stolen, *asked), what="the server refuses the machine")
    for words in (
        ("get", "services", "--all-namespaces"),
        ("get", "--raw", "/api/v1/nodes"),
        ("get", "secret", "any", "--namespace=default"),
        ("get", "--raw", "/version"),
        ("delete", "node", STOLEN),
    ):
        assert refusal in world.says(stolen, *words), words
    again = world.server.kubectl("create", "-f", "-", kubeconfig=stolen, stdin=json.dumps(MANIFEST), check=False)
    assert "created" not in again
    assert f"node/{STOLEN}" in world.server.kubectl(*asked, kubeconfig=world.server.kubeconfig)
    assert "Forbidden" not in world.says(other, "get", "services", "--all-namespaces")


@pytest.mark.parametrize("name", ["corp:alice@example.com", "corp:O'Brien", "corp:#{a}:b|c"])
@pytest.mark.engine
def test_a_person_whose_access_was_revoked_is_refused_by_name_and_let_in_again(world: World, name: str) -> None:
    groups = ("system:masters-not", "corp:ml")
    person, other = world.server.user(name, organizations=groups), world.server.user("corp:bob", organizations=groups)
    may = ("auth", "can-i", "create", "selfsubjectaccessreviews.authorization.k8s.io")
    assert world.says(person, *may).strip() == "yes"
    world.refuse(quarantine(STOLEN), revoked(name))
    refusal = "this person's access was revoked"
    eventually(lambda: refusal in world.says(person, "get", "--raw", "/version"), what="the server refuses the person")
    assert refusal in world.says(person, *may)
    assert world.says(other, *may).strip() == "yes"
    assert refusal in world.says(person, "get", "--raw", "/version", "--as=corp:bob")
    world.refuse(quarantine(STOLEN))
    eventually(lambda: world.says(person, *may).strip() == "yes", what="the server lets the person in again")


@pytest.mark.engine
def test_the_server_tells_which_list_it_uses(world: World) -> None:
    wanted = f"sha256:{hashlib.sha256(world.file.read_bytes()).hexdigest()}"
    told = world.server.kubectl("get", "--raw", "/metrics")
    lines = [line for line in told.splitlines() if line.startswith(refusal_lists.METRIC)]
    assert len(lines) == 1
    assert f',hash="{wanted}"' in lines[0]


@pytest.mark.engine
def test_without_its_webhook_it_is_refused_all_the_same(world: World) -> None:
    """Only the words are lost: an authorizer that does not answer refuses (``failurePolicy``)."""
    stolen, other = node(world, STOLEN), node(world, OTHER)
    world.webhook.kill()
    world.webhook.wait()
    said = world.says(stolen, "get", "--raw", "/api/v1/services")
    assert "connection refused" in said
    assert "items" in world.says(other, "get", "--raw", "/api/v1/services")


def test_a_machine_tells_the_people_whom_its_server_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / refusal_lists.CONFIGURATION).write_text("authorizers: []\n")
    path = tmp_path / Path(revoked_document.PATH).name
    path.write_text(content(revoked_document.PATH, Quarantine(), revoked("corp:b", "corp:a")))
    monkeypatch.setattr(refusal_lists, "loaded", lambda _node, _metric, *, pki: "sha256:another")
    node: Any = SimpleNamespace(port=1)
    found = refusal_lists.await_refused(node, pki=tmp_path, wanted="another", wait_s=60, path=path)
    digest = hashlib.sha256(b"corp:a\ncorp:b").hexdigest()
    assert (found.names, found.digest, found.loaded, found.error) == ((), digest, False, "")
    path.write_text("{}")
    assert "no list of those who are refused" in refusal_lists.refused(node, pki=tmp_path, path=path).error


@pytest.mark.parametrize(("started_s_ago", "restarted"), [(60.0, True), (-60.0, False)])
def test_a_server_is_started_anew_only_if_it_ran_before_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started_s_ago: float, restarted: bool
) -> None:
    """``started_s_ago`` counts from when the list was written."""
    (tmp_path / refusal_lists.CONFIGURATION).write_text("authorizers: []\n")
    path = tmp_path / "quarantine.json"
    path.write_text(content(quarantine_document.PATH, quarantine(STOLEN)))
    used = f"sha256:{hashlib.sha256((tmp_path / refusal_lists.CONFIGURATION).read_bytes()).hexdigest()}"
    asked: list[list[str]] = []
    began = {"us": (time.monotonic() - started_s_ago) * 1e6}

    def run(words: list[str], **_more: Any) -> Any:
        asked.append(words)
        if words[1] == "restart":
            began["us"] = (time.monotonic() + 1) * 1e6
        return SimpleNamespace(stdout=f"{began['us']:.0f}\n")

    monkeypatch.setattr(refusal_lists.subprocess, "run", run)
    monkeypatch.setattr(refusal_lists, "loaded", lambda _node, _metric, *, pki: used if pki == tmp_path else "")
    node: Any = SimpleNamespace(port=1)
    found = refusal_lists.end_connections(node, pki=tmp_path, path=path)
    assert (found.names, found.ended) == ((STOLEN,), True)
    assert (["systemctl", "restart", KUBE_APISERVER] in asked) is restarted
