"""Sign-in of a person at a real identity provider, on loopback, by a browser without a person."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.control_plane.issuing import common_name
from lab.oidc.person import fill_in
from longhaul.client import browser, device
from longhaul.client.errors import SignInError
from longhaul.client.oidc import IssuerRefusedError, claims_of, discover
from longhaul.client.profile import Profile
from longhaul.client.sign_in import token_of
from longhaul.client.tokens import TokenStore
from longhaul.client.vpn import key
from longhaul.client.vpn.command import signed_in_admissions
from tests.support.identity_provider import BRIEF_CLIENT, IdentityProvider, identity_provider
from tests.support.vpn_stand_in import Machines, doors, endpoint

pytestmark = pytest.mark.engine

ANY_PORT = (0,)


@pytest.fixture(scope="module", name="corp")
def _corp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProvider]:
    with identity_provider(tmp_path_factory.mktemp("corp")) as provider:
        yield provider


@pytest.fixture(name="home", autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


class Person:
    """Signs in at the page that is shown."""

    def __init__(self, corp: IdentityProvider, name: str) -> None:
        self._corp, self._name, self.pages = corp, name, list[str]()
        self._thread: threading.Thread | None = None

    def __call__(self, url: str) -> None:
        self._thread = threading.Thread(target=self._go, args=(url,))
        self._thread.start()

    def _go(self, url: str) -> None:
        self.pages.append(self._corp.sign_in(url, self._name))

    def done(self) -> str:
        assert self._thread is not None
        self._thread.join()
        return self.pages[-1]


def test_the_code_flow_gives_a_token_with_the_person_s_groups(corp: IdentityProvider) -> None:
    alice = Person(corp, "alice")
    tokens = browser.sign_in(discover(corp.profile_issuer()), show=alice, ports=ANY_PORT)
    claims = claims_of(tokens.id_token)
    assert (claims["sub"], claims["groups"], claims["aud"]) == ("alice", ["ml", "everyone"], "longhaul")
    assert tokens.good()
    assert tokens.refresh_token
    assert "Signed in." in alice.done()


def test_an_answer_to_somebody_else_s_question_is_not_taken(corp: IdentityProvider) -> None:
    import requests

    def show(url: str) -> None:
        (port,) = re.findall(r"localhost%3A(\d+)", url)
        (state,) = re.findall(r"state=([^&]+)", url)

        def go() -> None:
            loopback = f"http://127.0.0.1:{port}/"
            codes.append(requests.get(loopback, params={"code": "theirs", "state": "x"}, timeout=60).status_code)
            codes.append(requests.get(f"{loopback}favicon.ico", timeout=60).status_code)
            refusal = {"error": "access_denied", "error_description": "not you", "state": state}
            codes.append(requests.get(loopback, params=refusal, timeout=60).status_code)

        threads.append(threading.Thread(target=go))
        threads[0].start()

    codes: list[int] = []
    threads: list[threading.Thread] = []
    with pytest.raises(SignInError, match="not signed in: not you"):
        browser.sign_in(discover(corp.profile_issuer()), show=show, ports=ANY_PORT)
    threads[0].join()
    assert codes == [400, 404, 200]


def test_a_stolen_code_is_worth_nothing_without_its_verifier(corp: IdentityProvider) -> None:
    provider = discover(corp.profile_issuer())
    form = {"grant_type": "authorization_code", "code": "x" * 43, "redirect_uri": "http://localhost:1"}
    with pytest.raises(IssuerRefusedError, match="invalid_grant"):
        provider.exchange({**form, "code_verifier": "y" * 43})


def test_a_code_on_another_machine_signs_in(corp: IdentityProvider) -> None:
    said: list[str] = []
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) != 2:
            return
        url, code = re.findall(r"open (\S+) .* enter (\S+)$", said[0])[0]
        session = corp.browser()
        form = {"user_code": code}
        page = session.get(url, timeout=60)
        for more in ({}, {"confirm": "yes"}):
            (form["xsrf"],) = re.findall(r'name="xsrf" value="([^"]+)"', page.text)
            page = session.post(url, data={**form, **more}, timeout=60)
        fill_in(session, page, "bob")

    tokens = device.sign_in(discover(corp.profile_issuer()), show=said.append, wait=wait)
    assert claims_of(tokens.id_token)["groups"] == ["ops"]
    assert waits[0] == device.INTERVAL_S


def test_a_token_is_fresh_without_the_person_until_they_leave(
    corp: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tokens of this client are over at once."""
    issuer = corp.profile_issuer(BRIEF_CLIENT)
    monkeypatch.setattr(browser, "PORTS", ANY_PORT)
    store = TokenStore(issuer, "place")
    store.write(browser.sign_in(discover(issuer), show=Person(corp, "nobody"), ports=ANY_PORT))
    before = store.read()
    assert before is not None
    assert not before.good()
    fresh = token_of(issuer, "place", device=False, may_ask=False)
    assert fresh.refresh_token != before.refresh_token
    assert claims_of(fresh.id_token)["sub"] == "nobody"
    corp.leave("nobody")
    with pytest.raises(SignInError, match="run `longhaul login`"):
        token_of(issuer, "place", device=False, may_ask=False)


def test_the_vpn_is_asked_with_a_fresh_token_until_the_person_leaves(corp: IdentityProvider, home: Path) -> None:
    """The tokens of this client are over at once, so each renewal needs the refresh token."""
    machines, issuer = Machines(), corp.profile_issuer(BRIEF_CLIENT)

    def reply(token: str, content: dict[str, Any]) -> tuple[int, Any]:
        return 200, machines.answer(content["csr"], person=claims_of(token)["oid"])

    with endpoint(machines, home, reply) as door:
        profile = Profile(
            name="lab", server="https://127.0.0.1:1", server_name="", authority=corp.authority,
            issuers={"corp": issuer}, expires="2100-01-01T00:00:00+00:00", vpn=doors(machines, door.url),
        )  # fmt: skip
        source = signed_in_admissions(profile, argparse.Namespace(issuer=None, device=False))
        request = key.request(key.new_key())
        store = TokenStore(issuer, profile.place())
        store.write(browser.sign_in(discover(issuer), show=Person(corp, "bob"), ports=ANY_PORT))
        spent = [store.read()]
        for may_ask in (True, False):
            assert common_name(source(request, may_ask).certificate) == "b-2"
            spent.append(store.read())
        assert len({kept.refresh_token for kept in spent if kept is not None}) == 3
        corp.leave("bob")
        with pytest.raises(SignInError, match="run `longhaul login`"):
            source(request, False)
    assert len(door.asked) == 2


def test_kubectl_s_program_gives_the_kept_token(corp: IdentityProvider, home: Path) -> None:
    issuer = corp.profile_issuer()
    tokens = browser.sign_in(discover(issuer), show=Person(corp, "alice"), ports=ANY_PORT)
    profile = Profile(
        name="lab", server="https://127.0.0.1:1", server_name="", authority=corp.authority, issuers={"corp": issuer},
        expires="2100-01-01T00:00:00+00:00",
    )  # fmt: skip
    TokenStore(issuer, profile.place()).write(tokens)
    (home / "profile.json").write_text(profile.text())
    words = [sys.executable, "-I", "-m", "longhaul.client", "--profile", str(home / "profile.json")]
    done = subprocess.run(words, env=dict(os.environ), capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (answer["apiVersion"], answer["kind"]) == ("client.authentication.k8s.io/v1", "ExecCredential")
    assert answer["status"]["token"] == tokens.id_token
    assert done.stderr == ""


def test_a_provider_that_is_another_or_away_is_said_to_be(corp: IdentityProvider) -> None:
    with pytest.raises(SignInError, match="calls itself"):
        discover(corp.profile_issuer(url=f"{corp.url}/"))
    with pytest.raises(SignInError, match=r"does not answer: .*CERTIFICATE_VERIFY_FAILED"):
        discover(corp.profile_issuer(certificate_authority=""))
    with pytest.raises(SignInError, match="does not answer"):
        discover(corp.profile_issuer(url="https://127.0.0.1:1"))
    with pytest.raises(SignInError, match=r"answers with HTTP status 404|does not answer as an issuer"):
        discover(corp.profile_issuer(url=f"{corp.url}/elsewhere"))
