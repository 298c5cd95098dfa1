"""The administrator's kubeconfig."""

from __future__ import annotations

import argparse
import base64
import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from contract.kubernetes.api import identity_of
from longhaul.client.files import write_private
from longhaul.cluster import api_access as cluster
from longhaul.cluster.api_access import kubeconfig
from longhaul.kubeconfig import command
from longhaul.project.checkout import Project
from longhaul.project.context import Context, state_folder
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit
from longhaul.up.phases import Phase, UpJob, run_phase, run_side_by_side
from tests.longhaul.conftest import Checkout

IDENTITY = {"certificate": "CERT", "key": "KEY", "issuer": "CA"}


def test_it_embeds_everything_and_is_named_by_the_environment() -> None:
    config = kubeconfig(name="dev", server="https://api:6443", server_name=None, identity=IDENTITY)
    assert config["current-context"] == "dev"
    assert config["contexts"] == [{"name": "dev", "context": {"cluster": "dev", "user": "dev-admin"}}]
    (cluster,) = config["clusters"]
    assert cluster["cluster"]["server"] == "https://api:6443"
    assert base64.b64decode(cluster["cluster"]["certificate-authority-data"]) == b"CA"
    assert "tls-server-name" not in cluster["cluster"]
    (user,) = config["users"]
    assert base64.b64decode(user["user"]["client-certificate-data"]) == b"CERT"
    assert base64.b64decode(user["user"]["client-key-data"]) == b"KEY"


def test_through_the_labs_port_the_certificate_is_checked_for_its_own_name() -> None:
    config = kubeconfig(name="lab", server="https://127.0.0.1:1", server_name="api.lab.internal", identity=IDENTITY)
    assert config["clusters"][0]["cluster"]["tls-server-name"] == "api.lab.internal"


def test_only_its_owner_reads_it_even_where_a_looser_file_was(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    path.parent.mkdir()
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_its_identity_can_be_read_again() -> None:
    config = kubeconfig(name="dev", server="https://api:6443", server_name=None, identity=IDENTITY)
    assert identity_of(json.loads(json.dumps(config))) == IDENTITY


class Asked:
    """Options of one call, and what the command asked for."""

    def __init__(self, checkout: Checkout, patch: pytest.MonkeyPatch) -> None:
        self.kept: list[Any] = []
        self._checkout = checkout
        patch.setenv("XDG_CONFIG_HOME", str(checkout.home / "config"))
        patch.setattr(command, "fetch_identity", self._fetch)
        patch.setattr(command, "fetch_break_glass", lambda _environment: {**IDENTITY, "certificate": "GLASS"})
        self.folder = checkout.home / "config" / "longhaul" / "dev"

    def _fetch(self, _environment: Any, *, kept: Any) -> dict[str, str]:
        self.kept.append(kept)
        return IDENTITY

    def run(self, *words: str) -> None:
        parser = argparse.ArgumentParser()
        command.add_arguments(parser)
        options = parser.parse_args(words, argparse.Namespace(project=self._checkout.path, env="dev"))
        assert command.run(Invocation(command="kubeconfig", options=options, rest=(), argv=())) == Exit.OK


@pytest.fixture(name="asked")
def _asked(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(checkout, monkeypatch)


def test_the_command_hands_on_the_identity_of_the_file_from_before(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.run()
    asked.run()
    path = asked.folder / "kubeconfig"
    assert capsys.readouterr().out == f"{path}\n{path}\n"
    assert asked.kept == [None, IDENTITY]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("apiVersion: v1")
    asked.run()
    assert asked.kept[2] is None


def test_the_break_glass_certificate_has_a_file_of_its_own_and_is_told_of(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    asked.run("--break-glass")
    told = capsys.readouterr()
    path = asked.folder / "kubeconfig.break-glass"
    assert told.out == f"{path}\n"
    assert "delete the file" in told.err
    config = json.loads(path.read_text())
    assert identity_of(config)["certificate"] == "GLASS"
    assert config["users"][0]["name"] == "dev-break-glass"
    assert asked.kept == []


def test_a_kubeconfig_for_other_programs_is_gone_afterwards_and_so_is_a_killed_ones(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    folder = checkout.home / ".local/state/longhaul"
    where = Context(project=Project(root=checkout.path), env="dev", lab=None)
    environ = {"HOME": str(checkout.home)}
    left = state_folder(where, environ) / f"dev.{ended.pid}.kubeconfig"
    left.parent.mkdir(parents=True)
    left.touch()
    monkeypatch.setattr(cluster, "fetch_identity", lambda _environment, **_options: IDENTITY)
    with cluster.kubeconfig_file(where, where.project.load("dev"), environ) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text())["clusters"][0]["cluster"]["server"] == "https://10.64.3.5:6443"
        assert list(left.parent.iterdir()) == [path]
    assert [found for found in folder.rglob("*") if found.is_file()] == []


@pytest.mark.parametrize("side_by_side", [False, True])
def test_up_needs_no_rights_that_it_declares_itself(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, side_by_side: bool
) -> None:
    where = Context(project=Project(root=checkout.path), env="dev", lab=None)
    asked: list[bool] = []

    def fetch(_environment: Any, *, master: bool) -> dict[str, str]:
        asked.append(master)
        raise CommandError("no vault")

    monkeypatch.setattr(cluster, "fetch_identity", fetch)
    options = argparse.Namespace(yes=True, json=False, no_refresh=False, max_removed=None)
    environment = where.project.load("dev")
    environ = {"HOME": str(checkout.home)}
    job = UpJob(where=where, environment=environment, environ=environ, options=options, rest=(), log=None, began=0.0)
    outcomes = run_side_by_side(job, [Phase.OBJECTS]) if side_by_side else [run_phase(job, Phase.OBJECTS)]
    assert [one.code for one in outcomes] == [Exit.FAILED]
    assert asked == [True]
