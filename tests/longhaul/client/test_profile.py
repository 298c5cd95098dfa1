"""The profile that a person gets, the kubeconfig that is made of it, and what the client needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from longhaul.client import kubeconfig, sign_in
from longhaul.client.__main__ import credential
from longhaul.client.errors import SignInError
from longhaul.client.files import write_private
from longhaul.client.oidc import claims_of
from longhaul.client.options import refuse_changed
from longhaul.client.profile import LARGEST, Inside, Profile, ProfileIssuer, ProfileVpn, digest, read_profile
from longhaul.client.tokens import EARLY_S, Tokens, TokenStore
from longhaul.terminal.exits import CommandError, Exit

CORP = ProfileIssuer(url="https://corp.example.com", client_id="longhaul", scopes=("openid", "email"))
PROFILE = Profile(
    name="lab",
    server="https://api.lab.example.com:6443",
    server_name="",
    authority="-----BEGIN CERTIFICATE-----\n",
    issuers={"corp": CORP},
    expires="2030-06-01T00:00:00+00:00",
)
NOW = datetime(2030, 5, 1, tzinfo=UTC)


@pytest.fixture(name="home", autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "profile.json"
    path.write_text(text)
    return path


INSIDE = Inside(range="10.64.0.0/10", dns="10.64.0.10", zones=("lab.example.com", "cluster.local"))
VPN = ProfileVpn(endpoints=("https://203.0.113.7",), authority="PEM", name="vpn.lab.example.com", inside=INSIDE)


def test_a_profile_is_read_as_it_was_written(home: Path) -> None:
    assert read_profile(written(home, PROFILE.text()), now=NOW) == PROFILE
    assert "vpn" not in json.loads(PROFILE.text())
    through = replace(PROFILE, vpn=VPN)
    assert read_profile(written(home, through.text()), now=NOW) == through


def change(key: str, value: object) -> str:
    return json.dumps({**json.loads(PROFILE.text()), key: value})


def redigested(**changes: Any) -> str:
    return replace(PROFILE, **changes).text()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        change("server", "https://evil.example.com"),
        change("authority", "another"),
        change("digest", "0" * 64),
        change("more", 1),
        change("format", 2),
        redigested(server="http://api.example.com"),
        redigested(issuers={}),
        redigested(issuers={"corp": replace(CORP, url="http://corp.example.com")}),
        redigested(name="../x"),
        redigested(vpn=replace(VPN, endpoints=())),
        redigested(vpn=replace(VPN, endpoints=("http://203.0.113.7",))),
        redigested(vpn=replace(VPN, name='vpn"\nup /bin/sh')),
        redigested(vpn=replace(VPN, inside=replace(INSIDE, zones=()))),
        redigested(vpn=replace(VPN, inside=replace(INSIDE, zones=(".",)))),
        redigested(vpn=replace(VPN, inside=replace(INSIDE, dns="--interface=wlan0"))),
        redigested(vpn=replace(VPN, inside=replace(INSIDE, dns="192.0.2.1"))),
        redigested(vpn=replace(VPN, inside=replace(INSIDE, range="10.64.0.1/10"))),
        redigested(expires="soon"),
        redigested(expires="2030-06-01T00:00:00"),
        " " * (LARGEST + 1),
    ],
)
def test_an_altered_profile_is_refused(home: Path, text: str) -> None:
    with pytest.raises(SignInError, match="is not a profile, or it was changed"):
        read_profile(written(home, text), now=NOW)


@pytest.mark.parametrize("key", ["name", "server", "server_name", "authority", "expires"])
def test_a_profile_of_other_things_than_texts_is_none(home: Path, key: str) -> None:
    said = {**json.loads(PROFILE.text()), key: 5}
    del said["digest"]
    with pytest.raises(SignInError, match="not a profile"):
        read_profile(written(home, json.dumps({**said, "digest": digest(said)})), now=NOW)


def test_a_profile_that_leads_elsewhere_than_the_one_before_is_taken_only_on_purpose(home: Path) -> None:
    kept = written(home, PROFILE.text())
    refuse_changed(replace(PROFILE, expires="2031-01-01T00:00:00+00:00"), kept, replace=False)
    written(home, replace(PROFILE, expires="2020-01-01T00:00:00+00:00").text())  # one that expired says it as well
    for other in (replace(PROFILE, server="https://elsewhere.example.com"), replace(PROFILE, authority="x")):
        with pytest.raises(CommandError, match="leads elsewhere") as refused:
            refuse_changed(other, kept, replace=False)
        assert refused.value.code is Exit.REFUSED
        refuse_changed(other, kept, replace=True)
    refuse_changed(other, home / "nothing", replace=False)


def test_an_expired_profile_is_refused_and_a_missing_one(home: Path) -> None:
    with pytest.raises(SignInError, match=r"expired on 2030-06-01: ask the environment's operator"):
        read_profile(written(home, PROFILE.text()), now=datetime(2030, 6, 1, tzinfo=UTC))
    with pytest.raises(SignInError, match="cannot be read: No such file"):
        read_profile(home / "none")


def test_of_several_issuers_one_is_named() -> None:
    two = replace(PROFILE, issuers={"corp": CORP, "okta": CORP})
    assert (PROFILE.issuer(None), two.issuer("okta")) == (CORP, CORP)
    for profile, name in ((two, None), (two, "x"), (PROFILE, "x")):
        with pytest.raises(SignInError, match="name one by --issuer"):
            profile.issuer(name)


def test_a_kubeconfig_has_no_credential_and_runs_the_own_program_isolated(home: Path) -> None:
    found = kubeconfig.kubeconfig(PROFILE, kubeconfig.own_plugin(home / "p.json", issuer="corp", device=True))
    (user,) = found["users"]
    assert set(user["user"]) == {"exec"}
    assert user["user"]["exec"]["command"] == sys.executable
    assert user["user"]["exec"]["args"] == [
        *("-I", "-m", "longhaul.client", "--profile", str(home / "p.json"), "--issuer", "corp", "--device")
    ]
    assert found["clusters"][0]["cluster"]["server"] == PROFILE.server


def test_kubelogin_is_told_the_same(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    words = kubeconfig.kubelogin(replace(CORP, certificate_authority="PEM"), "place", device=True)["args"]
    assert words == [
        "oidc-login",
        "get-token",
        "--oidc-issuer-url=https://corp.example.com",
        "--oidc-client-id=longhaul",
        "--oidc-extra-scope=email",
        "--oidc-pkce-method=S256",
        f"--token-cache-dir={home}/state/longhaul/kubelogin/place",
        "--certificate-authority-data=UEVN",
        "--grant-type=device-code",
    ]
    monkeypatch.setenv("PATH", str(home))
    assert not kubeconfig.has_kubelogin()
    for name in ("kubectl", kubeconfig.KUBELOGIN):
        (home / name).write_text("#!/bin/sh\n")
        (home / name).chmod(0o755)
    assert kubeconfig.has_kubelogin()


def test_tokens_are_their_owner_s_alone(home: Path) -> None:
    store = TokenStore(CORP, PROFILE.place())
    tokens = Tokens(id_token="i", refresh_token="r", ends=time.time() + 3600)
    with store.lock():
        store.write(tokens)
    assert store.read() == tokens
    modes = {oct(path.stat().st_mode & 0o777) for path in (home / "state").rglob("*") if path.is_file()}
    assert modes == {"0o600"}
    assert (home / "state/longhaul/tokens").stat().st_mode & 0o777 == 0o700
    assert TokenStore(replace(CORP, client_id="other"), PROFILE.place()).read() is None
    store.forget()
    assert store.read() is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id_token": "a"}'])
def test_tokens_that_cannot_be_read_are_none(home: Path, text: str) -> None:
    store = TokenStore(CORP, PROFILE.place())
    store.write(Tokens(id_token="i", refresh_token="r", ends=0))
    (path,) = (home / "state/longhaul/tokens").glob("*.json")
    path.write_text(text)
    assert store.read() is None


def test_a_token_is_given_to_kubectl_until_shortly_before_it_ends() -> None:
    given = credential(Tokens(id_token="i", refresh_token="r", ends=1_900_000_000 + EARLY_S))
    assert given["status"] == {"token": "i", "expirationTimestamp": "2030-03-17T17:46:40Z"}


def test_a_good_token_is_given_without_asking_anybody() -> None:
    tokens = Tokens(id_token="i", refresh_token="", ends=time.time() + 3600)
    TokenStore(CORP, PROFILE.place()).write(tokens)
    assert sign_in.token_of(CORP, PROFILE.place(), device=False, may_ask=False) == tokens


def test_a_profile_that_leads_elsewhere_gets_no_token_of_another_whatever_its_name(home: Path) -> None:
    """The issuer and the client are the same, so the tokens would be good there."""
    own = replace(PROFILE, vpn=VPN)
    TokenStore(CORP, own.place()).write(Tokens(id_token="i", refresh_token="", ends=time.time() + 3600))
    for other in (
        replace(own, name="other", server="https://elsewhere.example.com"),
        replace(own, name="other", authority="x"),
        replace(own, vpn=None),
        replace(own, vpn=replace(VPN, endpoints=("https://192.0.2.1",))),
        replace(own, vpn=replace(VPN, authority="x")),
    ):
        assert TokenStore(CORP, other.place()).read() is None
    later = replace(own, expires="2031-01-01T00:00:00+00:00")
    assert TokenStore(CORP, later.place()).read() is not None
    assert read_profile(written(home, own.text()), now=NOW).place() == own.place()


@pytest.mark.parametrize("token", ["", "a", "a.b.c", "a.W10.c", "a.\xff.c"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(SignInError, match="cannot be read"):
        claims_of(token)


def test_a_private_file_replaces_another_whole(home: Path) -> None:
    path = home / "x" / "y"
    write_private(path, "one")
    write_private(path, "two")
    assert (path.read_text(), path.stat().st_mode & 0o777, len(list(path.parent.iterdir()))) == ("two", 0o600, 1)


LIST = "import sys; print('\\n'.join(sys.modules))"


def test_a_kept_token_is_given_without_loading_what_asks_for_one(home: Path) -> None:
    """That is why the program starts at once: TLS and HTTP take longer to load than all the rest."""
    TokenStore(CORP, PROFILE.place()).write(Tokens(id_token="i", refresh_token="", ends=time.time() + 3600))
    path = written(home, replace(PROFILE, expires="2100-01-01T00:00:00+00:00").text())
    run = (
        f"import sys, runpy; sys.argv = ['x', '--profile', {str(path)!r}]\n"
        "try: runpy.run_module('longhaul.client', run_name='__main__')\n"
        "except SystemExit as end: assert not end.code\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", run], env=dict(os.environ), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["status"]["token"] == "i"
    assert not {"ssl", "http.client", "urllib.request", "webbrowser", "socket"} & set(done.stderr.split())
