"""A token is asked for once, however many threads want it and however slow its source is."""

from __future__ import annotations

import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import AzureCliCredential

from clouds.azure.errors import AzureError
from clouds.azure.session import AzureSession, kept_credential
from clouds.azure.tokens import EARLY_S, PROCESS_S, KeptTokens, default_credential, holder
from tests.support.loopback import Answering

MANAGEMENT, VAULT = "https://management.azure.com/.default", "https://vault.azure.net/.default"
THREADS = 16

AZ = """#!/bin/sh
# Azure CLI, as far as azure-identity uses it: slow, and of no use to two at a time.
echo "$@" >>"$AZ_FOLDER/asked"
mkdir "$AZ_FOLDER/busy" || { echo "ERROR: the token cache is locked" >&2; exit 1; }
until [ -e "$AZ_FOLDER/go" ]; do sleep 0.02; done
rmdir "$AZ_FOLDER/busy"
[ -e "$AZ_FOLDER/out" ] && { echo "ERROR: Please run 'az login' to setup account." >&2; exit 1; }
echo '{"accessToken": "t", "expires_on": 4000000000, "tokenType": "Bearer"}'
"""


class Az:
    """A stand-in of Azure CLI on PATH that answers once it may."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        program = folder / "az"
        program.write_text(AZ)
        program.chmod(0o755)
        patch.setenv("PATH", str(folder), prepend=":")
        patch.setenv("AZ_FOLDER", str(folder))
        patch.setenv("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential")

    def asked(self) -> list[str]:
        asked = self._folder / "asked"
        return asked.read_text().splitlines() if asked.exists() else []

    def may_answer(self) -> None:
        (self._folder / "go").touch()

    def is_signed_out(self) -> None:
        (self._folder / "out").touch()


@pytest.fixture(name="az")
def _az(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Az:
    return Az(tmp_path, monkeypatch)


class Counting:
    """A credential whose tokens live until ``until``."""

    def __init__(self, until: int = 0) -> None:
        self.until, self.asked = until, list[tuple[str, ...]]()

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        self.asked.append(scopes)
        return AccessToken(f"token-{len(self.asked)}", self.until)


def all_at_once(kept: KeptTokens, az: Az) -> list[Any]:
    """Return what each of many threads gets; `az` answers only after all have asked."""
    together = Barrier(THREADS + 1)

    def ask(_: int) -> Any:
        together.wait()
        try:
            return kept.get_token(MANAGEMENT).token
        except ClientAuthenticationError as error:
            return error

    with ThreadPoolExecutor(THREADS) as threads:
        answers = threads.map(ask, range(THREADS))
        together.wait()
        az.may_answer()
        return list(answers)


def test_a_slow_source_is_asked_once_by_many_threads(az: Az) -> None:
    kept = default_credential()
    assert all_at_once(kept, az) == ["t"] * THREADS
    assert kept.get_token(MANAGEMENT).token == "t"
    assert len(az.asked()) == 1
    kept.get_token(VAULT)
    assert ["vault.azure.net" in line for line in az.asked()] == [False, True], "once for each audience"


def test_threads_that_wait_get_the_refusal(az: Az) -> None:
    az.is_signed_out()
    refusals = all_at_once(default_credential(), az)
    assert all(isinstance(refusal, ClientAuthenticationError) for refusal in refusals)
    assert not any("locked" in str(refusal) for refusal in refusals), "`az` is never run twice at a time"


def test_azure_cli_gets_the_time_that_it_needs() -> None:
    chain = default_credential()._credential
    [cli] = [one for one in chain.credentials if isinstance(one, AzureCliCredential)]
    assert cli._process_timeout == PROCESS_S > 10


def test_an_audience_is_signed_in_to_once_for_all_requests(
    az: Az, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    az.may_answer()
    monkeypatch.setenv("AZURE_TENANT_ID", str(tmp_path))
    with Answering(lambda _: (200, b"{}")) as azure:
        sessions = [AzureSession(azure.url), AzureSession(azure.url)]
        for session in sessions:
            session.request("GET", f"{azure.url}/x")
            session.request("GET", f"{azure.url}/y")
    assert len(az.asked()) == 1
    assert kept_credential() is kept_credential()


def test_a_token_is_kept_until_five_minutes_before_its_end() -> None:
    source, now = Counting(until=10_000), 1_000.0
    kept = KeptTokens(source, wall=lambda: now)
    assert [kept.get_token(MANAGEMENT).token for _ in range(3)] == ["token-1"] * 3
    assert kept.get_token(VAULT).token == "token-2"
    now = source.until - EARLY_S
    assert kept.get_token(MANAGEMENT).token == "token-3"
    assert source.asked == [(MANAGEMENT,), (VAULT,), (MANAGEMENT,)]


def test_what_a_service_demands_beyond_a_token_is_asked_for() -> None:
    source = Counting(until=int(time.time()) + 3600)
    kept = KeptTokens(source)
    tokens = [kept.get_token(VAULT).token, kept.get_token(VAULT, claims="more").token, kept.get_token(VAULT).token]
    assert tokens == ["token-1", "token-2", "token-1"]
    assert kept.get_token(VAULT, tenant_id="other").token == "token-3", "another tenant's token is another token"


def test_a_refusal_is_not_kept(az: Az) -> None:
    az.is_signed_out()
    az.may_answer()
    session = AzureSession(MANAGEMENT.removesuffix("/.default"), credential=default_credential)
    for _ in range(2):
        with pytest.raises(AzureError, match="Sign in with `az login`"):
            session.request("GET", "https://management.azure.com/x")
    assert len(az.asked()) == 2


def access_token(**claims: str) -> str:
    """Return an access token's text: header, claims and signature."""
    return ".".join(["e30", base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("="), "c2ln"])


def test_a_token_says_whose_it_is_and_what_does_not_say_it_is_nobodys() -> None:
    assert holder(access_token(upn="anna@example.com", appid="az")) == "anna@example.com"
    assert holder(access_token(unique_name="live.com#boris@example.com", appid="az")) == "live.com#boris@example.com"
    assert holder(access_token(appid="az", oid="1", scp="user_impersonation")) == "1"
    assert holder(access_token(appid="robot", oid="1")) == "robot"
    assert [holder(text) for text in ("opaque", "a.b.c", "e30.W10.x", access_token(oid="1"))] == [""] * 4


def test_whose_the_tokens_are_is_known_once_one_was_asked_for() -> None:
    source = Counting(until=int(time.time()) + 3600)
    source.get_token = lambda *_, **__: AccessToken(access_token(upn="anna@example.com"), source.until)  # type: ignore[method-assign]
    kept = KeptTokens(source)
    assert kept.holder() == ""
    kept.get_token(VAULT)
    assert kept.holder() == "anna@example.com"
