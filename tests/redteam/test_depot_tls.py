"""Attacker between machines and their depot, with a certificate of an authority of his own. What he serves is the
depot itself, as its builder has signed it: only the certificate tells."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.render.containerd import DEPOT_AUTHORITY
from lab.cloud.pki import Pki, ensure_pki
from longhaul.artifacts.serving import served
from tests.redteam.test_depot import PLAYBOOKS, VERIFIER, digest_in
from tests.support.ansible_cases import run_cases
from tests.support.depot_apt import Apt
from tests.support.gpg import needs_gpg
from tests.support.signed_depot import BINARY, IMAGE, Key, make_depot, two_keys

pytestmark = [
    needs_gpg,
    pytest.mark.skipif(shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None, reason="needs apt"),
]

SERVERS = ("the depot", "a stranger", "a neighbour")
ROLE = PLAYBOOKS / "roles" / "depot_authority"
PULL = PLAYBOOKS / "roles/preloaded_images/files/pull_images.py"


@dataclass(frozen=True)
class Server:
    """A server of the depot, as machines reach it."""

    address: str
    right: bool
    """True for the depot's own."""
    authority: Path
    """Certificate of the authority that machines believe."""
    key: str
    depot: Path

    @property
    def pem(self) -> str:
        return self.authority.read_text()


@pytest.fixture(scope="module", name="builder")
def _builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Key]:
    with two_keys(tmp_path_factory) as keys:
        yield keys[0]


@pytest.fixture(scope="module", name="depot")
def _depot(tmp_path_factory: pytest.TempPathFactory, builder: Key) -> Path:
    return make_depot(tmp_path_factory.mktemp("made") / "depot", signer=builder)


@pytest.fixture(scope="module", name="ours")
def _ours(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return ensure_pki(tmp_path_factory.mktemp("ours"), ("127.0.0.1", "localhost"))


@pytest.fixture(scope="module", name="servers")
def _servers(
    tmp_path_factory: pytest.TempPathFactory, depot: Path, builder: Key, ours: Pki
) -> Iterator[dict[str, Server]]:
    """Servers with a certificate of the authority, of another, and of the authority for another machine."""
    folder = tmp_path_factory.mktemp("servers")
    neighbour = shutil.copytree(ours.ca_certificate.parent, folder / "neighbour")
    shown = {
        "the depot": ours,
        "a stranger": ensure_pki(folder / "stranger", ("127.0.0.1", "localhost")),
        "a neighbour": ensure_pki(neighbour, ("other.example",)),
    }
    with ExitStack() as serving:
        servers = {}
        for name in SERVERS:
            address = serving.enter_context(served(depot, tls=shown[name].server_context()))
            right = name == "the depot"
            servers[name] = Server(address, right=right, authority=ours.ca_certificate, key=builder.public, depot=depot)
        yield servers


@pytest.fixture(name="server", params=SERVERS)
def _server(request: pytest.FixtureRequest, servers: dict[str, Server]) -> Server:
    return servers[request.param]


def fetching(server: Server, fetch: str, into: Path) -> dict[str, Any]:
    """Return the task that fetches something: the sums as the operator's Ansible does, a binary or an image as hosts
    do in the roles binaries and preloaded_images, whose tasks have this environment."""
    lookup = "lookup('longhaul_depot', 'binaries/SHA256SUMS', address=address, key=key, authority=authority)"
    tasks: dict[str, dict[str, Any]] = {
        "sums": {"ansible.builtin.copy": {"content": f"{{{{ {lookup} }}}}", "dest": str(into / "sums")}},
        "binary": {"ansible.builtin.get_url": {"url": f"{server.address}/{BINARY}", "dest": f"{into}/"}},
        "image": {"ansible.builtin.script": {"cmd": f"{PULL} --depot={server.address} --into={into} {IMAGE}"}},
    }
    of_lookup = {"address": server.address, "key": server.key, "authority": server.pem}
    of_role = {"depot_authority": server.pem, "depot_authority_file": str(server.authority)}
    if fetch == "sums":
        return {**tasks[fetch], "vars": of_lookup}
    return {**tasks[fetch], "vars": of_role, "environment": "{{ depot_authority_environment }}"}


@pytest.fixture(scope="module", name="fetched")
def _fetched(
    tmp_path_factory: pytest.TempPathFactory, servers: dict[str, Server]
) -> dict[tuple[str, str], tuple[dict[str, Any], list[Path]]]:
    """The verdict and the files of each fetch from each server."""
    folder = tmp_path_factory.mktemp("fetched")
    cases, folders = {}, {}
    for server in servers.values():
        for fetch in ("sums", "binary", "image"):
            into = folders[server.address, fetch] = tmp_path_factory.mktemp(fetch)
            cases[f"{server.address} {fetch}"] = [fetching(server, fetch, into)]
    verdicts = run_cases(folder, cases, vars_files=[ROLE / "defaults/main.yml", ROLE / "vars/main.yml"])
    return {
        (address, fetch): (verdicts[f"{address} {fetch}"], list(into.iterdir()))
        for (address, fetch), into in folders.items()
    }


def test_apt_asks_the_depot_alone(server: Server, tmp_path: Path) -> None:
    apt = Apt(tmp_path / "apt", server.address, server.key, authority=server.pem)
    assert apt.install() == ("good" if server.right else "")


@pytest.mark.parametrize("server", SERVERS[:1], indirect=True)
def test_apt_believes_the_authority_of_no_other_host(server: Server, tmp_path: Path) -> None:
    apt = Apt(tmp_path / "apt", server.address, server.key, authority=server.pem)
    apt.ask(server.address.replace("127.0.0.1", "localhost"))
    assert apt.install() == ""


@pytest.mark.parametrize("server", SERVERS[:1], indirect=True)
def test_without_an_authority_apt_goes_by_the_machine_s_store(server: Server, tmp_path: Path) -> None:
    assert Apt(tmp_path / "apt", server.address, server.key).install() == ""


@pytest.mark.parametrize("fetch", ["sums", "binary", "image"])
def test_the_operator_s_ansible_and_hosts_do_when_they_fetch(
    server: Server, fetched: dict[tuple[str, str], tuple[dict[str, Any], list[Path]]], fetch: str
) -> None:
    verdict, files = fetched[server.address, fetch]
    assert (verdict["failed"] is None) == bool(files) == server.right, verdict


def test_the_roles_have_that_environment() -> None:
    for name in ("binaries/tasks/depot.yml", "preloaded_images/tasks/main.yml"):
        tasks = yaml.safe_load((PLAYBOOKS / "roles" / name).read_text())
        (fetching,) = (task for task in tasks if {"ansible.builtin.get_url", "ansible.builtin.script"} & task.keys())
        assert "depot_authority_environment" in fetching["environment"]


def test_a_node_s_verifier_does(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = tmp_path / "depot.json"
    settings.write_text(json.dumps({"url": server.address, "key": server.key, "authority": str(server.authority)}))
    assert VERIFIER.main(["-name", IMAGE, "-digest", digest_in(server.depot)], settings) == (0 if server.right else 1)
    assert ("CERTIFICATE_VERIFY_FAILED" in capsys.readouterr().out) != server.right


def test_what_nodes_and_roles_call_it_is_the_same() -> None:
    found = yaml.safe_load((ROLE / "vars/main.yml").read_text())
    assert [found["depot_authority_file"]] == list(found["depot_authority_pem"]) == [DEPOT_AUTHORITY]
    assert not DEPOT_AUTHORITY.startswith(("/etc/ssl", "/usr/local/share/ca-certificates")), "the system's own store"
