"""Members' client certificates: of their own etcd cluster's authority, and how those from 0.1.0 become so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from components.control_plane import issuing
from components.control_plane.certificates import AuthorityProvider, CertificateProvider
from components.control_plane.member_clients import MemberClientProvider, OwnClientProvider
from tests.components.fake_vault import URL, FakeVault

MEMBERS = ("lab-etcd-0-client", "lab-etcd-1-client", "lab-etcd-2-client")
FIRST, SECOND, LAST = MEMBERS


class World:
    """The vault of an environment, and its authorities."""

    def __init__(self, values: dict[str, str]) -> None:
        self.values = values
        self.etcd, self.shared = self.authority("etcd"), self.authority("etcd-client")

    def authority(self, name: str) -> dict[str, Any]:
        names = {"secret": f"ca-{name}", "trust_secret": f"trust-{name}", "common_name": name}
        return AuthorityProvider().create({"vault_url": URL, **names, "days": 3650}).outs or {}

    def client(self, name: str, *, of: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        issuer = of or self.etcd
        lists: dict[str, list[str]] = {"organizations": [], "dns_names": [], "addresses": [], "usages": ["client"]}
        return {
            "vault_url": URL,
            "secret": name,
            "authority_secret": issuer["secret"],
            "authority_fingerprint": issuer["fingerprint"],
            "former_authority_secret": self.shared["secret"],
            "first_client": FIRST,
            "common_name": name,
            **lists,
            "days": 365,
            **more,
        }

    def as_in_0_1_0(self) -> dict[str, dict[str, Any]]:
        """Return the state of all certificates as 0.1.0 issued them."""
        made = {name: CertificateProvider().create(self.client(name, of=self.shared)).outs or {} for name in MEMBERS}
        assert {self.issuer(name) for name in MEMBERS} == {"etcd-client"}
        return made

    def upgraded(self, *, own: tuple[str, ...] = MEMBERS) -> dict[str, dict[str, Any]]:
        """Return the state after an upgrade in which ``own`` came to their own authority."""
        before = self.as_in_0_1_0()
        after = {
            name: MemberClientProvider().update("", before[name], self.client(name)).outs or {} for name in MEMBERS
        }
        for name in own:
            OwnClientProvider().create(self.client(name))
        return after

    def issuer(self, name: str) -> str:
        """Return the name of the authority that issued what the vault has, with its signature checked."""
        stored = json.loads(self.values[name])
        (found,) = (
            one["common_name"]
            for one in (self.etcd, self.shared)
            if issuing.key_fingerprint(stored["issuer"]) == one["fingerprint"]
        )
        return str(found)


@pytest.fixture(name="world")
def _world(monkeypatch: pytest.MonkeyPatch) -> World:
    values: dict[str, str] = {}
    monkeypatch.setattr(FakeVault, "values", values, raising=False)
    for module in ("certificates", "member_clients"):
        monkeypatch.setattr(f"components.control_plane.{module}.Vault", FakeVault)
    return World(values)


def test_a_new_environment_s_are_of_the_own_authority_from_the_beginning(world: World) -> None:
    for name in MEMBERS:
        MemberClientProvider().create(world.client(name))
    before = dict(world.values)
    for name in MEMBERS:
        OwnClientProvider().create(world.client(name))
    assert world.values == before
    assert {world.issuer(name) for name in MEMBERS} == {"etcd"}


def test_those_from_0_1_0_stay_while_a_machine_may_know_no_other_authority(world: World) -> None:
    before = world.as_in_0_1_0()
    stored = dict(world.values)
    provider = MemberClientProvider()
    for name in MEMBERS:
        assert provider.diff("", before[name], world.client(name)).changes
        after = provider.update("", before[name], world.client(name)).outs or {}
        assert after["certificate"] == before[name]["certificate"]
        found = provider.diff("", after, world.client(name))
        assert (found.changes, found.replaces) == (False, [])
    assert world.values == stored


def test_once_all_are_ready_they_are_of_the_own_authority(world: World) -> None:
    after = world.upgraded()
    assert {world.issuer(name) for name in MEMBERS} == {"etcd"}
    stored = dict(world.values)
    for name in MEMBERS:
        assert not MemberClientProvider().diff("", after[name], world.client(name)).changes
        assert not OwnClientProvider().diff("", {}, world.client(name)).changes
        OwnClientProvider().create(world.client(name))  # once more, as after a run that was killed
    assert world.values == stored


@pytest.mark.parametrize(("own", "issuer"), [((), "etcd-client"), ((FIRST,), "etcd-client"), (MEMBERS, "etcd")])
def test_one_that_is_due_meanwhile_is_one_that_its_peers_trust(world: World, own: tuple[str, ...], issuer: str) -> None:
    state = world.upgraded(own=own)[LAST]
    old = world.values[LAST]
    authority = issuing.Pair(**json.loads(world.values["ca-etcd"]))
    ended = issuing.issue(issuing.Subject(common_name="any", days=1 / 86400), authority=authority)
    due = {**state, "certificate": ended.certificate}
    made = MemberClientProvider().update("", due, world.client(LAST)).outs or {}
    assert world.values[LAST] != old
    assert made["certificate"] == json.loads(world.values[LAST])["certificate"]
    assert (made["authority_secret"], world.issuer(LAST)) == ("ca-etcd", issuer)


def test_one_that_is_of_its_own_authority_never_goes_back(world: World) -> None:
    state = world.upgraded(own=(FIRST,))[FIRST]
    MemberClientProvider().update("", state, world.client(FIRST, days=200))
    assert world.issuer(FIRST) == "etcd"


@pytest.mark.parametrize(("own", "issuer"), [((), "etcd-client"), ((FIRST,), "etcd"), ((FIRST, SECOND), "etcd")])
def test_a_new_member_s_is_one_that_its_peers_trust(world: World, own: tuple[str, ...], issuer: str) -> None:
    world.upgraded(own=own)
    del world.values[LAST]
    MemberClientProvider().create(world.client(LAST))
    assert world.issuer(LAST) == issuer
    OwnClientProvider().create(world.client(LAST))
    assert world.issuer(LAST) == "etcd"


def test_an_own_authority_that_was_replaced_issues_them_anew(world: World) -> None:
    state = world.upgraded()
    del world.values["ca-etcd"]
    world.etcd = world.authority("etcd")
    for name in MEMBERS:
        assert MemberClientProvider().diff("", state[name], world.client(name)).changes
        MemberClientProvider().update("", state[name], world.client(name))
    assert {world.issuer(name) for name in MEMBERS} == {"etcd"}


def test_the_state_holds_no_private_key(world: World) -> None:
    states = [*world.as_in_0_1_0().values(), OwnClientProvider().create(world.client(FIRST)).outs]
    assert "PRIVATE KEY" in world.values[FIRST]
    assert "PRIVATE KEY" not in str(states)
