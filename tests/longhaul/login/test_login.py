"""``longhaul login`` with a profile: no checkout, no cloud."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.cli import main
from longhaul.client.kubeconfig import KUBELOGIN
from longhaul.client.profile import Profile
from longhaul.client.tokens import Tokens, TokenStore
from longhaul.terminal.exits import Exit
from tests.longhaul.client.test_profile import CORP, PROFILE
from tests.support.programs import write_program

GOOD: Profile = replace(PROFILE, expires="2100-01-01T00:00:00+00:00")


@pytest.fixture(name="home")
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("LONGHAUL_ENV", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profile.json").write_text(GOOD.text())
    return tmp_path


def login(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any], str]:
    """Return the exit code, the kubeconfig that was written, and what was said."""
    code = main(["login", "--profile", "profile.json", *words])
    out, err = capsys.readouterr()
    return code, json.loads(Path(out.strip()).read_text()) if out else {}, err


def test_who_is_signed_in_gets_a_kubeconfig_without_a_checkout(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TokenStore(CORP, PROFILE.place()).write(Tokens(id_token="i", refresh_token="", ends=time.time() + 3600))
    code, found, _ = login(capsys)
    kept = home / "config/longhaul/lab/profile.json"
    assert code == Exit.OK
    assert kept.read_text() == GOOD.text()
    assert str(kept) in found["users"][0]["user"]["exec"]["args"]
    assert found["current-context"] == "lab"
    assert (home / "config/longhaul/lab/login.kubeconfig").stat().st_mode & 0o777 == 0o600


def test_kubelogin_is_used_where_kubectl_finds_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("kubectl", KUBELOGIN):
        write_program(home / "bin" / name, "#!/bin/sh\n")
    code, found, said = login(capsys)
    assert (code, found["users"][0]["user"]["exec"]["command"]) == (Exit.OK, "kubectl")
    assert "kubelogin signs in" in said
    TokenStore(CORP, PROFILE.place()).write(Tokens(id_token="i", refresh_token="", ends=time.time() + 3600))
    _, found, _ = login(capsys, "--no-kubelogin")
    assert found["users"][0]["user"]["exec"]["args"][:3] == ["-I", "-m", "longhaul.client"]


def test_a_profile_that_cannot_be_used_leaves_everything_as_it_was(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "profile.json").write_text(replace(GOOD, expires="2020-01-01T00:00:00+00:00").text())
    code, _, said = login(capsys)
    assert (code, "expired on 2020-01-01" in said) == (Exit.FAILED, True)
    code, _, said = login(capsys, "--issuer", "x")
    assert code == Exit.FAILED
    assert not (home / "config").exists()
