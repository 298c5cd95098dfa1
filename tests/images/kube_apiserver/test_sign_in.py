"""Sign-in of people at a real kube-apiserver by a real identity provider: what is taken, and what is refused."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kube_apiserver import issuer_list
from vpn.people import People, PersonRefusedError

from components.model import Environment, Role, control_machines, load, plan
from components.model.identity.section import Identity, Issuer
from components.model.identity.sign_in import MOST_GROUPS, settings
from components.model.secrets.vault import ISSUERS, QUARANTINE, REVOKED
from components.model.vpn.section import RIGHT
from components.render import api_server_machine as rendered
from components.render.quarantine import AUTHORIZATION, CLIENT, refusing_client
from contract.documents.issuers import PATH as AUTHENTICATION
from contract.documents.quarantine import Quarantine
from contract.documents.revoked import Revoked, RevokedPerson
from lab import tools
from longhaul.client import browser
from longhaul.client.kubeconfig import kubeconfig, own_plugin
from longhaul.client.oidc import discover
from longhaul.client.profile import Profile
from longhaul.client.tokens import TokenStore
from tests.support.api_server import ApiServer, api_server, eventually
from tests.support.hosts import STACKS
from tests.support.identity_provider import LIFE_S, OTHER_CLIENT, IdentityProvider, identity_provider

pytestmark = pytest.mark.engine

LAB = load(STACKS / "Pulumi.lab.yaml")
ALICE = ["corp:everyone", "corp:ml", "system:authenticated"]
NOWHERE = "https://127.0.0.1:1"
"""An issuer that does not answer."""


def environment(*issuers: Issuer) -> Environment:
    named = {f"i{index}": issuer for index, issuer in enumerate(issuers)}
    return LAB.model_copy(update={"identity": Identity.model_construct(issuers=named, groups={})})


@dataclass(frozen=True, kw_only=True)
class World:
    """An API server whose files are those of a machine, and two companies."""

    server: ApiServer
    folder: Path
    corp: IdentityProvider
    rival: IdentityProvider

    def write(self, path: str, *issuers: Issuer, revoked: Revoked | None = None) -> Path:
        """Write one of the machine's files in one step, as its program makes it of the vault's secrets."""
        machine = next(one for one in control_machines(LAB, plan(LAB)) if one.role is Role.API)
        (file,) = [one for one in rendered.secret_files(LAB, machine) if one.path == path]
        held = {ISSUERS: settings(environment(*issuers)), QUARANTINE: Quarantine().text()}
        content = file.filled({**held, REVOKED: (revoked or Revoked()).text()})
        place = self.folder / Path(path).name
        fresh = place.with_suffix(".new")
        fresh.write_text(content.replace(CLIENT, str(self.folder / "quarantine.kubeconfig")))
        fresh.rename(place)
        return place

    def issue(self, *issuers: Issuer) -> None:
        """Give the server these issuers; return when it uses them."""
        place = self.write(AUTHENTICATION, *issuers)
        eventually(lambda: self.uses(place), what="the server uses the issuers")

    def uses(self, place: Path) -> bool:
        """Return whether the server uses the file, as its machine finds it out."""
        told = self.server.kubectl("get", "--raw", "/metrics", check=False)
        hashes = re.findall(rf"^{issuer_list.METRIC}\{{.*hash=\"(sha256:\w+)\"", told, re.MULTILINE)
        return hashes == [f"sha256:{hashlib.sha256(place.read_bytes()).hexdigest()}"]

    def whoami(self, token: str) -> dict[str, Any]:
        """Return who the server takes the bearer of a token for; empty when it takes it for nobody."""
        said = self.server.kubectl("auth", "whoami", "--output=json", kubeconfig=self.server.bearer(token), check=False)
        if "Unauthorized" in said or "must be logged in" in said:
            return {}
        return dict(json.loads(said)["status"]["userInfo"])

    def log(self) -> str:
        return (self.server.folder / "kube-apiserver.log").read_text()


@pytest.fixture(scope="module", name="world")
def _world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("sign-in")
    binaries = tools.ensure(["etcd", "kube-apiserver", "kubectl"], log_dir=folder, progress=print)
    (folder / "quarantine.kubeconfig").write_text(json.dumps(refusing_client()))
    with identity_provider(folder / "corp") as corp, identity_provider(folder / "rival") as rival:
        bare = World(server=None, folder=folder, corp=corp, rival=rival)  # type: ignore[arg-type]
        arguments = [
            f"--authentication-config={bare.write(AUTHENTICATION)}",
            f"--authorization-config={bare.write(AUTHORIZATION)}",
        ]
        with api_server(folder, tools=binaries, services=plan(LAB).services, arguments=arguments) as server:
            world = World(server=server, folder=folder, corp=corp, rival=rival)
            yield world


@pytest.fixture(name="issued")
def _issued(world: World) -> World:
    """The server believes one company."""
    place = world.write(AUTHENTICATION, world.corp.issuer())
    eventually(lambda: world.uses(place), what="the server uses the issuers")
    eventually(lambda: world.whoami(world.corp.token()), what="the server has the issuer's keys")
    return world


def test_nobody_is_believed_until_an_issuer_is_declared(world: World) -> None:
    """Then the running server believes it."""
    token = world.corp.token()
    assert world.whoami(token) == {}
    world.issue(world.corp.issuer())
    assert eventually(lambda: world.whoami(token), what="the issuer is believed")["username"] == "corp:a-1"
    assert world.whoami(world.rival.token()) == {}
    world.issue(world.corp.issuer(), world.rival.issuer("rival"))
    assert world.whoami(world.rival.token())["username"] == "rival:a-1"
    world.issue(world.corp.issuer())
    assert world.whoami(world.rival.token()) == {}


def test_a_person_signs_in_and_kubectl_works(issued: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code flow, the program that kubectl runs, and the groups that the server sees."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    threads: list[threading.Thread] = []

    def show(url: str) -> None:
        threads.append(threading.Thread(target=issued.corp.sign_in, args=(url, "alice")))
        threads[0].start()

    issuer = issued.corp.profile_issuer()
    profile = Profile(
        name="lab",
        server=f"https://127.0.0.1:{issued.server.port}",
        server_name="kubernetes.test",
        authority=(issued.server.folder / "ca.crt").read_text(),
        issuers={"corp": issuer},
        expires="2100-01-01T00:00:00+00:00",
    )
    TokenStore(issuer, profile.place()).write(browser.sign_in(discover(issuer), show=show, ports=(0,)))
    threads[0].join()
    path = tmp_path / "profile.json"
    path.write_text(profile.text())
    config = tmp_path / "kubeconfig"
    config.write_text(json.dumps(kubeconfig(profile, own_plugin(path, issuer=None, device=False))))
    words = [issued.server._tools["kubectl"], f"--kubeconfig={config}", "auth", "whoami", "--output=json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    who = json.loads(done.stdout)["status"]["userInfo"]
    assert (who["username"], sorted(who["groups"])) == ("corp:a-1", ALICE)


HOUR = LIFE_S


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"aud": OTHER_CLIENT}, "expected audience"),
        ({"aud": None}, "expected audience"),
        ({"oid": None}, 'parse username claims \\"oid\\"'),
        ({"oid": ["a", "b"]}, 'parse username claims \\"oid\\"'),
        ({"groups": {"system:masters": True}}, 'parse groups claim \\"groups\\"'),
        ({"iat": 0 - 2 * HOUR, "exp": 0 - HOUR}, "token is expired"),
        # A clock that is ten minutes behind, or ahead.
        ({"iat": -600, "exp": -300}, "token is expired"),
        ({"nbf": 600}, "before the nbf"),
        ({"exp": 25 * HOUR}, "lives longer than 24 hours"),
        ({"iat": None}, "error evaluating claim validation expression"),
        ({"exp": None}, "token is expired"),
        ({"oid": "müller"}, "could not be revoked"),
        ({"oid": "anna smith"}, "could not be revoked"),
        ({"oid": "a,b"}, "could not be revoked"),
        ({"oid": "a" * 257}, "could not be revoked"),
        ({"groups": [f"g{n}" for n in range(5000)]}, f"more than {MOST_GROUPS} groups"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_token_that_is_not_for_this_cluster_is_refused(issued: World, claims: dict[str, Any], why: str) -> None:
    """Numbers are seconds from now."""
    now = int(time.time())
    said = {key: now + value if isinstance(value, int) else value for key, value in claims.items()}
    seen = len(issued.log())
    assert issued.whoami(issued.corp.token(**said)) == {}
    assert why in issued.log()[seen:]


def test_what_is_forged_is_refused(issued: World) -> None:
    genuine = issued.corp.token()
    head, body, signature = genuine.split(".")
    claims = json.loads(urlsafe_b64decode(body + "=="))
    claims["groups"] = ["ops"]
    altered = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    none = urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    for forged in (
        f"{head}.{altered}.{signature}",
        f"{head}.{body}.{signature[:-8]}AAAAAAAA",
        f"{none}.{altered}.",
        issued.corp.token(by=issued.rival),
        issued.corp.token(iss=issued.rival.url),
        issued.corp.token(iss=f"{issued.corp.url}/"),
    ):
        assert issued.whoami(forged) == {}, forged
    assert issued.whoami(genuine)["username"] == "corp:a-1"


def test_a_group_of_the_cluster_s_own_is_a_company_s_all_the_same(issued: World) -> None:
    token = issued.corp.token(oid="m", groups=["system:masters", "longhaul:admins"])
    groups = issued.whoami(token)["groups"]
    assert sorted(groups) == ["corp:longhaul:admins", "corp:system:masters", "system:authenticated"]
    may = issued.server.kubectl("auth", "can-i", "get", "secrets", kubeconfig=issued.server.bearer(token), check=False)
    assert may.strip() == "no"


def test_a_required_claim_is_required(issued: World) -> None:
    issued.issue(issued.corp.issuer(required_claims={"tid": "t-1"}))
    assert issued.whoami(issued.corp.token(tid="t-1"))["username"] == "corp:a-1"
    assert issued.whoami(issued.corp.token(tid="t-2")) == {}
    assert issued.whoami(issued.corp.token()) == {}


def test_an_issuer_that_is_away_holds_neither_a_start_nor_a_revocation_up(issued: World) -> None:
    """It holds changes of issuers up, which is why a person is not revoked by them."""
    token, other = issued.corp.token(), issued.corp.token(oid="b-2")
    place = issued.write(AUTHENTICATION, issued.corp.issuer(), issued.rival.issuer("away", url=NOWHERE))
    assert issued.server.kubectl("get", "--raw", "/readyz") == "ok"
    assert issued.whoami(token)["username"] == "corp:a-1"
    assert not issued.uses(place)
    issued.server.restart()
    assert issued.uses(place)
    assert issued.server.kubectl("auth", "whoami", "--output=jsonpath={.status.userInfo.username}") == "admin"
    assert eventually(lambda: issued.whoami(token), what="the other issuer is believed")["username"] == "corp:a-1"
    person = RevokedPerson(name="corp:a-1", since="2030-01-01T00:00:00+00:00", by="anna")
    issued.write(AUTHORIZATION, revoked=Revoked(people=(person,)))
    asked = ("get", "--raw", "/version")
    config = issued.server.bearer(token)
    # What denies does not run here, and its silence is a denial.
    eventually(
        lambda: "gitVersion" not in issued.server.kubectl(*asked, kubeconfig=config, check=False),
        what="the person is refused",
    )
    assert "gitVersion" in issued.server.kubectl(*asked, kubeconfig=issued.server.bearer(other))
    issued.write(AUTHORIZATION)
    issued.issue(issued.corp.issuer())


def test_a_machine_tells_its_issuers_and_whether_its_server_uses_them(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node: Any = SimpleNamespace(port=1)
    place = world.write(AUTHENTICATION, world.corp.issuer())
    used = hashlib.sha256(place.read_bytes()).hexdigest()
    monkeypatch.setattr(issuer_list, "loaded", lambda _node, _metric, *, pki: f"sha256:{used}")
    found = issuer_list.await_issuers(node, pki=tmp_path, wait_s=0, path=place)
    assert (found.urls, found.loaded, found.error) == ((world.corp.url,), True, "")
    text = json.loads(settings(environment(world.corp.issuer())))["jwt"]
    assert found.digest == hashlib.sha256(text.encode()).hexdigest()
    monkeypatch.undo()
    unknown = issuer_list.issuers(node, pki=tmp_path, path=tmp_path / "none")
    assert (unknown.loaded, bool(unknown.error)) == (False, True)


VPN_ROLE = "longhaul-vpn"


def test_a_vpn_machine_has_the_api_judge_tokens_people_and_rights(issued: World) -> None:
    """A token of another audience, a person of another group, and one whose access was revoked get nothing."""
    server = issued.server
    url = f"https://127.0.0.1:{server.port}"
    people = People(url=url, authority=server.folder / "ca.crt", right=RIGHT)

    def refusal(**claims: Any) -> int:
        with pytest.raises(PersonRefusedError) as caught:
            people.find(issued.corp.token(**claims))
        return caught.value.status

    assert refusal() == 403
    server.kubectl("create", "clusterrole", VPN_ROLE, "--verb=get", f"--non-resource-url={RIGHT}")
    server.kubectl("create", "clusterrolebinding", VPN_ROLE, f"--clusterrole={VPN_ROLE}", "--group=corp:ml")
    found = eventually(lambda: _found(people, issued.corp.token()), what="the group has the right")
    claims = issued.corp.token().split(".")[1]
    assert found.name == "corp:a-1"
    assert abs(found.token_ends - json.loads(urlsafe_b64decode(claims + "=="))["exp"]) < 60
    assert refusal(groups=["ops"]) == 403
    assert refusal(groups=["system:masters"]) == 403
    assert refusal(aud=OTHER_CLIENT) == 401
    now = int(time.time())
    assert refusal(exp=now - 60) == 401
    assert refusal(iss=issued.rival.url) == 401
    assert refusal(by=issued.rival) == 401
    # Bad input: no name, a list of thousands of groups, and an issuer whose clock is ten minutes ahead.
    assert refusal(oid=None) == 401
    assert refusal(groups=["ml", *(f"g{number}" for number in range(5000))]) == 401
    assert refusal(nbf=now + 600) == 401
    person = RevokedPerson(name="corp:a-1", since="2030-01-01T00:00:00+00:00", by="anna")
    issued.write(AUTHORIZATION, revoked=Revoked(people=(person,)))
    # What denies does not run here, and its silence is a denial.
    eventually(lambda: _found(people, issued.corp.token()) is None, what="the person is refused")
    assert people.find(issued.corp.token(oid="b-2")).name == "corp:b-2"
    issued.write(AUTHORIZATION)


def _found(people: People, token: str) -> Any:
    try:
        return people.find(token)
    except (PersonRefusedError, OSError):
        return None
