"""Secrets arrive whole, with their mode, and stay when the vault is away. No value is written anywhere else."""

from __future__ import annotations

import getpass
import grp
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from vault import fetch_secrets
from vault.client import AwayError

from tests.images.fakes import TOKEN, FakeVault

KEY = "-----BEGIN PRIVATE KEY-----\nmade up\n-----END PRIVATE KEY-----\n"
OWNER = f"{getpass.getuser()}:{grp.getgrgid(os.getgid()).gr_name}"


class Machine:
    """A machine with two files of secrets, and a vault that has them."""

    def __init__(self, folder: Path, vault: FakeVault, patch: pytest.MonkeyPatch) -> None:
        self.vault, self.config, self._patch = vault, folder / "secrets.json", patch
        self.member, self.ca = folder / "pki" / "member.pem", folder / "pki" / "ca.crt"
        vault.secrets["m-member"] = json.dumps({"certificate": "CERTIFICATE\n", "key": KEY, "issuer": "ISSUER\n"})
        vault.secrets["trust-etcd"] = "ISSUER\n"
        content = "${m-member:certificate}${m-member:key}"
        files: list[dict[str, Any]] = [
            {"path": str(self.member), "content": content, "mode": "0400", "owner": OWNER},
            {"path": str(self.ca), "content": "${trust-etcd}", "mode": "0444", "owner": OWNER},
        ]
        self.write_config({"vault": vault.url, "metadata": vault.metadata, "files": files})
        patch.setattr("vault.fetch_secrets.RETRY_S", 0.01)

    def write_config(self, raw: dict[str, Any]) -> None:
        self.config.write_text(json.dumps(raw))

    def run(self, *arguments: str) -> int:
        self._patch.setattr(sys, "argv", ["vault.fetch_secrets", "--config", str(self.config), *arguments])
        return fetch_secrets.main()


@pytest.fixture(name="machine")
def _machine(tmp_path: Path, vault: FakeVault, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, vault, monkeypatch)


def test_files_are_made_of_secrets_with_their_mode(machine: Machine, capfd: pytest.CaptureFixture[str]) -> None:
    assert machine.run() == 0
    assert machine.member.read_text() == "CERTIFICATE\n" + KEY
    modes = {path.name: path.stat().st_mode & 0o777 for path in machine.member.parent.iterdir()}
    assert modes == {"member.pem": 0o400, "ca.crt": 0o444}
    said = "".join(capfd.readouterr())
    assert "member.pem" in said
    assert TOKEN not in said
    assert "made up" not in said


def test_only_what_changed_is_written(machine: Machine) -> None:
    assert machine.run() == 0
    inode = machine.member.stat().st_ino
    assert machine.run() == 0
    machine.vault.secrets["trust-etcd"] = "ISSUER 2\n"
    assert machine.run() == 0
    assert machine.ca.read_text() == "ISSUER 2\n"
    assert machine.member.stat().st_ino == inode


@pytest.mark.parametrize("refuse", [401, 403, 404, 429, 503])
def test_a_vault_that_refuses_leaves_the_old_files(refuse: int, machine: Machine) -> None:
    assert machine.run() == 0
    machine.vault.refuse = refuse
    assert machine.run() == 1  # the timer's run reports it
    assert machine.run("--boot-wait", "60") == 0  # but a machine boots without the vault
    assert machine.member.read_text() == "CERTIFICATE\n" + KEY


def test_at_boot_it_waits_for_the_role_assignment(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.vault.refuse = 403
    monkeypatch.setattr("vault.fetch_secrets.time.sleep", lambda _: setattr(machine.vault, "refuse", 0))
    assert machine.run("--boot-wait", "60") == 0
    assert machine.member.exists()
    assert "secret m-member: the answer was 403" in capfd.readouterr().err


def test_a_missing_secret_is_named_and_the_others_are_written(
    machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    del machine.vault.secrets["m-member"]
    assert machine.run("--boot-wait", "0.05") == 1
    assert machine.ca.exists()
    assert not machine.member.exists()
    said = capfd.readouterr().err
    assert "secret m-member: the answer was 404" in said
    assert "missing:" in said


@pytest.mark.parametrize("value", ["not JSON " + KEY, "[]", json.dumps({"certificate": KEY}), json.dumps({"key": 1})])
def test_a_secret_of_another_shape_is_named_without_its_value(
    value: str, machine: Machine, capfd: pytest.CaptureFixture[str]
) -> None:
    machine.vault.secrets["m-member"] = value
    assert machine.run() == 1
    said = "".join(capfd.readouterr())
    assert "secret m-member: its" in said
    assert "made up" not in said
    assert not machine.member.exists()


def test_nobody_at_the_metadata_address_is_said(machine: Machine) -> None:
    machine.write_config(json.loads(machine.config.read_text()) | {"metadata": "http://127.0.0.1:9/none"})
    with pytest.raises(AwayError, match="token from the metadata service"):
        fetch_secrets.open_vault(machine.config).token()
    assert machine.run() == 1
