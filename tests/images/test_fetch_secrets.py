"""Secrets arrive whole, with their mode, and stay when the vault is away. No value is written anywhere else."""

from __future__ import annotations

import getpass
import grp
import json
import os
import sys
from pathlib import Path
from typing import Any

import fetch_secrets
import pytest
from vault import AwayError

from tests.images.fakes import TOKEN, FakeVault

KEY = "-----BEGIN PRIVATE KEY-----\nmade up\n-----END PRIVATE KEY-----\n"
OWNER = f"{getpass.getuser()}:{grp.getgrgid(os.getgid()).gr_name}"


@pytest.fixture(name="restarted")
def _restarted(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    commands: list[list[str]] = []
    monkeypatch.setattr("fetch_secrets.subprocess.run", lambda command, check: commands.append(command))
    return commands


@pytest.fixture(name="config")
def _config(tmp_path: Path, vault: FakeVault) -> Path:
    vault.secrets["m-member"] = json.dumps({"certificate": "CERTIFICATE\n", "key": KEY, "issuer": "ISSUER\n"})
    vault.secrets["trust-etcd"] = "ISSUER\n"
    files: list[dict[str, Any]] = [
        {
            "path": str(tmp_path / "pki" / "member.pem"),
            "content": "${m-member:certificate}${m-member:key}",
            "mode": "0400",
            "owner": OWNER,
        },
        {
            "path": str(tmp_path / "pki" / "ca.crt"),
            "content": "${trust-etcd}",
            "mode": "0444",
            "owner": OWNER,
            "restart": ["etcd.service"],
        },
    ]
    path = tmp_path / "secrets.json"
    path.write_text(json.dumps({"vault": vault.url, "metadata": vault.metadata, "files": files}))
    return path


def run(config: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["fetch_secrets.py", "--config", str(config), *arguments])
    monkeypatch.setattr("fetch_secrets.RETRY_S", 0.01)
    return fetch_secrets.main()


@pytest.mark.usefixtures("restarted")
def test_files_are_made_of_secrets_with_their_mode(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(config, monkeypatch) == 0
    member = tmp_path / "pki" / "member.pem"
    assert member.read_text() == "CERTIFICATE\n" + KEY
    assert member.stat().st_mode & 0o777 == 0o400
    assert (tmp_path / "pki" / "ca.crt").stat().st_mode & 0o777 == 0o444
    assert sorted(path.name for path in (tmp_path / "pki").iterdir()) == ["ca.crt", "member.pem"]
    said = "".join(capfd.readouterr())
    assert "member.pem" in said
    assert TOKEN not in said
    assert "made up" not in said


def test_only_what_changed_is_written_and_restarts_its_readers(
    config: Path, tmp_path: Path, vault: FakeVault, monkeypatch: pytest.MonkeyPatch, restarted: list[list[str]]
) -> None:
    assert run(config, monkeypatch) == 0
    inode = (tmp_path / "pki" / "member.pem").stat().st_ino
    restarted.clear()
    assert run(config, monkeypatch) == 0
    assert restarted == []
    vault.secrets["trust-etcd"] = "ISSUER 2\n"
    assert run(config, monkeypatch) == 0
    assert restarted == [["systemctl", "--no-block", "try-restart", "etcd.service"]]
    assert (tmp_path / "pki" / "ca.crt").read_text() == "ISSUER 2\n"
    assert (tmp_path / "pki" / "member.pem").stat().st_ino == inode


@pytest.mark.usefixtures("restarted")
@pytest.mark.parametrize("refuse", [401, 403, 404, 429, 503])
def test_a_vault_that_refuses_leaves_the_old_files(
    refuse: int, config: Path, tmp_path: Path, vault: FakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(config, monkeypatch) == 0
    vault.refuse = refuse
    assert run(config, monkeypatch) == 1  # the timer's run reports it
    assert run(config, monkeypatch, "--boot-wait", "60") == 0  # but a machine boots without the vault
    assert (tmp_path / "pki" / "member.pem").read_text() == "CERTIFICATE\n" + KEY


def test_at_boot_it_waits_for_the_role_assignment(
    config: Path, tmp_path: Path, vault: FakeVault, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    vault.refuse = 403

    def admit(seconds: float) -> None:
        vault.refuse = 0

    monkeypatch.setattr("fetch_secrets.time.sleep", admit)
    monkeypatch.setattr("fetch_secrets.restart", lambda changed: None)
    assert run(config, monkeypatch, "--boot-wait", "60") == 0
    assert (tmp_path / "pki" / "member.pem").exists()
    assert "secret m-member: the answer was 403" in capfd.readouterr().err


@pytest.mark.usefixtures("restarted")
def test_a_missing_secret_is_named_and_the_others_are_written(
    config: Path, tmp_path: Path, vault: FakeVault, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    del vault.secrets["m-member"]
    assert run(config, monkeypatch, "--boot-wait", "0.05") == 1
    assert (tmp_path / "pki" / "ca.crt").exists()
    assert not (tmp_path / "pki" / "member.pem").exists()
    said = capfd.readouterr().err
    assert "secret m-member: the answer was 404" in said
    assert "missing:" in said


@pytest.mark.usefixtures("restarted")
@pytest.mark.parametrize("value", ["not JSON " + KEY, "[]", json.dumps({"certificate": KEY}), json.dumps({"key": 1})])
def test_a_secret_of_another_shape_is_named_without_its_value(
    value: str,
    config: Path,
    tmp_path: Path,
    vault: FakeVault,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    vault.secrets["m-member"] = value
    assert run(config, monkeypatch) == 1
    said = "".join(capfd.readouterr())
    assert "secret m-member: its" in said
    assert "made up" not in said
    assert not (tmp_path / "pki" / "member.pem").exists()


def test_nobody_at_the_metadata_address_is_said(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = json.loads(config.read_text())
    config.write_text(json.dumps(raw | {"metadata": "http://127.0.0.1:9/none"}))
    with pytest.raises(AwayError, match="token from the metadata service"):
        fetch_secrets.Config.read(config).open().token()
    assert run(config, monkeypatch) == 1
