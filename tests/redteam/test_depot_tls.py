"""Attacker between machines and their depot, with a certificate of an authority of his own. What he serves is the
depot itself, as its builder has signed it: only the certificate tells."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.render.node_files import DEPOT_AUTHORITY
from lab.cloud.pki import Pki, ensure_pki
from longhaul.artifacts.serving import served
from tests.redteam.test_depot import PLAYBOOKS, VERIFIER, digest_in
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


@pytest.fixture(name="server", params=SERVERS)
def _server(request: pytest.FixtureRequest, tmp_path: Path, depot: Path, builder: Key, ours: Pki) -> Iterator[Server]:
    """A server with a certificate of the authority, of another, or of the authority for another machine."""
    shown = ours
    if request.param == "a stranger":
        shown = ensure_pki(tmp_path / "stranger", ("127.0.0.1", "localhost"))
    elif request.param == "a neighbour":
        folder = shutil.copytree(ours.ca_certificate.parent, tmp_path / "neighbour")
        shown = ensure_pki(folder, ("other.example",))
    with served(depot, tls=shown.server_context()) as address:
        right = request.param == "the depot"
        yield Server(address, right=right, authority=ours.ca_certificate, key=builder.public, depot=depot)


def play(folder: Path, tasks: list[dict[str, Any]], **variables: object) -> subprocess.CompletedProcess[str]:
    """Run tasks here, with the variables of the role."""
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    play["vars_files"] = [str(ROLE / "defaults/main.yml"), str(ROLE / "vars/main.yml")]
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    argv = [sys.executable, "-m", "ansible", "playbook", "--extra-vars", json.dumps(variables)]
    environ = {**os.environ, "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"), "no_proxy": "*"}
    environ["ANSIBLE_LOOKUP_PLUGINS"] = str(PLAYBOOKS / "lookup_plugins")
    argv.append(str(folder / "play.yml"))
    return subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)


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


def test_the_operator_s_ansible_does_too(server: Server, tmp_path: Path) -> None:
    lookup = "lookup('longhaul_depot', 'binaries/SHA256SUMS', address=address, key=key, authority=authority)"
    task = {"ansible.builtin.copy": {"content": f"{{{{ {lookup} }}}}", "dest": str(tmp_path / "sums")}}
    done = play(tmp_path, [task], address=server.address, key=server.key, authority=server.pem)
    assert (done.returncode == 0) == (tmp_path / "sums").exists() == server.right, done.stdout


@pytest.mark.parametrize("fetch", ["binary", "image"])
def test_hosts_do_when_they_fetch(server: Server, tmp_path: Path, fetch: str) -> None:
    """As the roles binaries and preloaded_images, whose tasks have this environment."""
    into = tmp_path / "into"
    into.mkdir()
    binary = {"ansible.builtin.get_url": {"url": f"{server.address}/{BINARY}", "dest": f"{into}/"}}
    image = {"ansible.builtin.script": {"cmd": f"{PULL} --depot={server.address} --into={into} {IMAGE}"}}
    task = {"binary": binary, "image": image}[fetch]
    of_role = {"depot_authority": server.pem, "depot_authority_file": str(server.authority)}
    done = play(tmp_path, [{**task, "environment": "{{ depot_authority_environment }}"}], **of_role)
    assert (done.returncode == 0) == bool(list(into.iterdir())) == server.right, done.stdout


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
