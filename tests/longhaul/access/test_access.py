"""Revocation of a person's access: its steps, what interrupts them, what is shown, and the profile."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clouds.base.control import CommandOutput
from clouds.base.errors import CloudError
from components.model import Environment, load, plan
from components.model.identity.section import Identity
from components.model.identity.sign_in import settings
from components.model.secrets.vault import REVOKED, VPN_REMOTES
from components.model.sites.places import place_of
from components.model.vpn.section import Vpn, operator_name, remotes
from contract.documents.refusals import digest_of
from contract.documents.revoked import Revoked, RevokedPerson
from longhaul.access import command
from longhaul.access.people import PeopleVault, require_person
from longhaul.access.show import document, text, views
from longhaul.access.steps import AccessRun
from longhaul.client.profile import Inside, read_profile
from longhaul.cluster.profile import profile_of
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit
from tests.model.make import issuer

SERVERS = ("lab-api-0", "lab-api-1")
NOW = datetime(2030, 5, 4, 10, 30, tzinfo=UTC)
ALICE, OBRIEN = "corp:alice@example.com", "corp:O'Brien"


class World:
    """A vault, and API servers that know its list only when told to fetch."""

    def __init__(self, environment: Environment) -> None:
        identity = {"issuers": {"corp": issuer()}, "groups": {"corp:ml": {"everywhere": "view", "namespaces": {}}}}
        self.environment = environment.model_copy(update={"identity": Identity.model_validate(identity)})
        self.vault: dict[str, str] = {REVOKED: Revoked().text()}
        self.lists = dict.fromkeys(SERVERS, Revoked().names)
        self.issuers = dict.fromkeys(SERVERS, self.digest())
        self.open = set(SERVERS)
        self.deaf: set[str] = set()
        self.away: set[str] = set()
        self.stale: dict[str, str] = {}
        """Servers whose next fetch has read the vault before the list changed."""
        self.meanwhile: list[Callable[[], None]] = []
        """Others' doings, each after the next fetch."""
        self.said: list[str] = []
        self.taken = False
        """True while others start API servers anew."""
        self.together: threading.Barrier | None = None

    def digest(self) -> str:
        return hashlib.sha256(json.loads(settings(self.environment))["jwt"].encode()).hexdigest()

    def secret(self, _place: Any, _vault: str, name: str) -> str | None:
        return self.vault.get(name)

    def set_secret(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self.vault[name] = value

    def signed_in(self, _place: Any) -> str:
        return "anna"

    def run_command(self, _place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        if machine in self.away:
            raise CloudError("it is off")
        if script.startswith("printf"):
            told: dict[str, Any] = {"issuers": {"digest": self.issuers[machine], "loaded": True, "error": ""}}
            told["revoked"] = {
                "digest": digest_of(self.lists[machine]),
                "loaded": machine not in self.deaf,
                "error": "",
            }
            return CommandOutput(stdout=json.dumps(told), stderr="")
        if "--end-connections" in script:
            assert "longhaul-node revoked" in script
            assert all(set(Revoked.parse(self.vault[REVOKED]).names) <= {*names} for names in self.lists.values())
            self.open.discard(machine)
            return CommandOutput(stdout=json.dumps({"ended": True}), stderr="")
        if self.together is not None:
            self.together.wait()
        asked = shlex.split(script.partition(" --digest ")[2])[0]
        self.lists[machine] = Revoked.parse(self.stale.pop(machine, self.vault[REVOKED])).names
        loaded = digest_of(self.lists[machine]) == asked and machine not in self.deaf
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return CommandOutput(stdout=json.dumps({"digest": digest_of(self.lists[machine]), "loaded": loaded}), stderr="")

    def people(self) -> PeopleVault:
        control: Any = self
        place = place_of(self.environment, self.environment.control_plane.site)
        return PeopleVault(control=control, place=place, environment=self.environment)

    def run(self) -> AccessRun:
        return AccessRun(
            people=self.people(), tell=self.said.append, now=lambda: NOW, clock=lambda: 0.0, turn=self.turn
        )

    @contextmanager
    def turn(self) -> Iterator[None]:
        if self.taken:
            raise CommandError("a key is being rotated")
        yield

    def revoke(self, name: str = ALICE, *, keep_connections: bool = False) -> None:
        self.run().revoke(name, by="anna", keep_connections=keep_connections)

    def refused(self) -> set[tuple[str, ...]]:
        return set(self.lists.values())


@pytest.fixture(name="world")
def _world(root: Path) -> World:
    return World(load(root / "stacks" / "Pulumi.lab.yaml"))


def test_a_person_is_refused_by_every_server_and_what_was_open_ends(world: World) -> None:
    world.revoke()
    assert (world.refused(), world.open) == ({(ALICE,)}, set())
    assert world.people().read().people == (RevokedPerson(name=ALICE, since="2030-05-04T10:30:00+00:00", by="anna"),)
    for server in SERVERS:
        assert f"{server} refuses {ALICE}, after 0 s" in world.said
    world.run().restore(ALICE)
    assert world.refused() == {()}
    assert f"{SERVERS[0]} refuses nobody, after 0 s" in world.said


def test_vpn_machines_refuse_a_person_too(world: World) -> None:
    """They end what is open when they are told, and nothing of theirs is started anew."""
    machines = ("lab-vpn-0", "lab-vpn-1")
    world.environment = world.environment.model_copy(update={"vpn": Vpn(machine_type="Standard_D2s_v5")})
    world.lists |= dict.fromkeys(machines, ())
    world.open |= set(machines)
    world.revoke()
    assert (world.refused(), world.open) == ({(ALICE,)}, set(machines))
    world.away.add(machines[1])
    with pytest.raises(CommandError, match="lab-vpn-1 cannot be asked: it is off"):
        world.revoke(OBRIEN)


def test_servers_are_told_at_the_same_time(world: World) -> None:
    """Otherwise five of them would take longer than a minute."""
    world.together = threading.Barrier(len(SERVERS), timeout=60)
    world.revoke()
    assert world.refused() == {(ALICE,)}


def test_a_name_is_never_words_of_the_shell(world: World) -> None:
    world.revoke(OBRIEN)
    world.revoke("corp:;reboot")
    assert world.refused() == {tuple(sorted([OBRIEN, "corp:;reboot"]))}


def test_what_is_open_goes_on_if_that_is_wanted(world: World) -> None:
    world.revoke(keep_connections=True)
    assert (world.refused(), world.open) == ({(ALICE,)}, set(SERVERS))


def test_nobody_starts_servers_anew_while_others_do(world: World) -> None:
    """The refusal itself waits for nobody."""
    world.taken = True
    with pytest.raises(CommandError, match="a key is being rotated"):
        world.revoke()
    assert (world.refused(), world.open) == ({(ALICE,)}, set(SERVERS))
    world.revoke(OBRIEN, keep_connections=True)
    world.taken = False
    world.revoke()
    assert world.open == set()


def test_a_fetch_that_read_the_vault_before_is_done_again(world: World) -> None:
    world.stale[SERVERS[1]] = world.vault[REVOKED]
    world.revoke()
    assert world.refused() == {(ALICE,)}


def test_a_server_that_does_not_refuse_fails_the_run_and_not_the_others(world: World) -> None:
    world.away.add(SERVERS[0])
    with pytest.raises(CommandError, match=rf"{SERVERS[0]} cannot be asked: it is off"):
        world.revoke()
    assert (world.lists[SERVERS[1]], world.open) == ((ALICE,), set(SERVERS))
    world.away.clear()
    world.deaf.add(SERVERS[1])
    with pytest.raises(CommandError, match=rf"{SERVERS[1]} has the list, but its kube-apiserver does not use it"):
        world.revoke()
    world.deaf.clear()
    world.revoke()
    assert (world.refused(), world.open) == ({(ALICE,)}, set())


def test_another_s_change_at_the_same_time_undoes_nothing(world: World) -> None:
    bob = Revoked(people=(RevokedPerson(name="corp:bob", since="", by="x"),)).text()
    world.meanwhile = [lambda: None, lambda: world.vault.update({REVOKED: bob})]
    world.revoke()
    assert world.refused() == {(ALICE, "corp:bob")}


def test_who_always_undoes_it_is_told_of(world: World) -> None:
    world.meanwhile = [lambda: world.vault.update({REVOKED: Revoked().text()})] * 20
    with pytest.raises(CommandError, match="undo this change"):
        world.revoke()


def test_an_environment_without_the_list_is_told_what_makes_it(world: World) -> None:
    world.vault.clear()
    with pytest.raises(CommandError, match="longhaul up --env lab --only infrastructure"):
        world.people().read()
    world.vault[REVOKED] = "{}"
    with pytest.raises(CommandError, match="Make an earlier version of it the newest one"):
        world.people().read()


def test_a_full_list_says_what_makes_room(world: World) -> None:
    many = tuple(RevokedPerson(name=f"corp:{'x' * 100}{n}", since="", by="") for n in range(90))
    world.vault[REVOKED] = Revoked(people=many).text()
    with pytest.raises(CommandError, match="`longhaul access restore` removes people"):
        world.people().change(
            lambda _: Revoked(people=(*many, *(RevokedPerson(name=f"corp:{n}", since="", by="") for n in range(300))))
        )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("alice", "like corp:alice"),
        ("okta:alice", "names begin with their issuer's prefix"),
        ("system:admin", "names begin with their issuer's prefix"),
        ("corp:a b", "is not a name that can be refused"),
        ('corp:"', "is not a name that can be refused"),
    ],
)
def test_a_name_that_nobody_can_have_is_refused(world: World, name: str, said: str) -> None:
    with pytest.raises(CommandError, match=re.escape(said)) as refused:
        require_person(world.environment, name)
    assert refused.value.code is Exit.USAGE


def test_an_operators_name_in_the_vpn_can_be_revoked_where_there_is_one(world: World) -> None:
    name = operator_name("anna@example.com")
    with pytest.raises(CommandError, match="names begin with their issuer's prefix"):
        require_person(world.environment, name)
    require_person(world.environment.model_copy(update={"vpn": Vpn(machine_type="Standard_D2s_v5")}), name)


def test_where_nobody_signs_in_there_is_nobody_to_revoke(world: World) -> None:
    bare = world.environment.model_copy(update={"identity": Identity()})
    with pytest.raises(CommandError, match="has no issuers"):
        require_person(bare, ALICE)
    with pytest.raises(CommandError, match="an administrator uses `longhaul kubeconfig`"):
        profile_of(bare, lab_port=None, now=NOW)


def test_what_is_shown_is_what_each_server_says(world: World) -> None:
    world.revoke()
    world.issuers[SERVERS[0]] = "another"
    world.lists[SERVERS[1]] = ()
    revoked = world.people().read()
    found = views(world.people(), revoked)
    assert [one.is_current for one in found] == [False, False]
    assert "`longhaul access apply`" in found[0].issuers
    assert (found[0].revoked, found[1].issuers) == ("the latest", "those of the file")
    lines = "\n".join(text(world.environment, revoked, found))
    assert "refuses" not in lines
    for part in ("list of revoked people", ALICE, "corp:ml", "view", "https://corp.example.com", "anna", *SERVERS):
        assert part in lines
    told = document(world.environment, revoked, found)
    assert told["issuers"]["corp"]["names"] == "corp:"
    assert json.loads(json.dumps(told))["revoked"][0]["name"] == ALICE
    world.away.add(SERVERS[0])
    assert "unknown: lab-api-0 cannot be asked" in views(world.people(), revoked)[0].issuers


def test_apply_has_the_servers_fetch(world: World) -> None:
    world.vault[REVOKED] = Revoked(people=(RevokedPerson(name=ALICE, since="", by=""),)).text()
    world.run().apply()
    assert world.refused() == {(ALICE,)}


def test_a_profile_leads_to_the_environment(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longhaul.cluster.profile.read_secret", lambda _environment, name: f"PEM of {name}")
    found = profile_of(world.environment, lab_port=None, now=NOW)
    path = tmp_path / "profile.json"
    path.write_text(found.text())
    assert read_profile(path, now=NOW) == found
    assert (found.server, found.server_name) == ("https://api.lab.longhaul.internal:6443", "")
    assert found.authority == "PEM of trust-kubernetes"
    assert found.issuers["corp"].client_id == "longhaul"
    lab = profile_of(world.environment, lab_port=4711, now=NOW)
    assert (lab.server, lab.server_name) == ("https://127.0.0.1:4711", "api.lab.longhaul.internal")
    assert found.vpn is None


def test_a_profile_has_the_doors_of_the_vpn(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = world.environment.model_copy(update={"vpn": Vpn(machine_type="Standard_D2s_v5")})
    told = {VPN_REMOTES: remotes("vpn.example.com", ["203.0.113.7", "203.0.113.8"])}
    monkeypatch.setattr(
        "longhaul.cluster.profile.read_secret", lambda _environment, name: told.get(name, f"PEM of {name}")
    )
    found = profile_of(own, lab_port=None, now=NOW)
    assert found.vpn is not None
    assert found.vpn.endpoints == ("https://vpn.example.com", "https://203.0.113.7", "https://203.0.113.8")
    addresses = plan(own)
    assert found.vpn.inside == Inside(
        range=str(own.supernet), dns=str(addresses.dns_service), zones=("lab.longhaul.internal", "cluster.local")
    )
    assert (found.vpn.authority, found.vpn.name) == ("PEM of trust-vpn", "vpn.lab.longhaul.internal")
    path = tmp_path / "profile.json"
    path.write_text(found.text())
    assert read_profile(path, now=NOW) == found


@pytest.mark.parametrize("words", [["revoke"], ["restore"], ["show", "corp:x"], ["profile", "corp:x"]])
def test_who_is_named_where_a_person_is_meant(words: list[str], monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    options = parser.parse_args(words)
    where: Any = type("Where", (), {"env": "lab", "lab": None, "project": None})()
    where.project = type("Project", (), {"load": staticmethod(lambda _env: world.environment)})()
    monkeypatch.setattr(command, "context", lambda _invocation: where)
    with pytest.raises(CommandError, match="name") as refused:
        command.run(Invocation(command="access", options=options, rest=(), argv=tuple(words)))
    assert refused.value.code is Exit.USAGE
