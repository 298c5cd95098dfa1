"""Rotation of the key that encrypts Secrets: its steps, and what interrupts them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clouds.base.control import CommandOutput
from components.model import Environment, load
from components.model.secrets.encryption_keys import EncryptionKeys, RotationPhase
from components.model.secrets.vault import KEYS_IN_USE, RETIRED_KEYS
from components.model.sites.places import place_of
from contract.documents.node_answers import NodeReport, to_text
from contract.kubernetes.connection import ApiError
from longhaul.control_plane.node_answers import parse_answer
from longhaul.report.status_verdict import StatusVerdict
from longhaul.rotate.encryption import ROUNDS, Rotation
from longhaul.status.observed import ApiEndpoint, Observed
from longhaul.status.rotations import judge_rotations
from longhaul.terminal.exits import CommandError
from longhaul.vault.encryption_keys import EncryptionVault

SERVERS = ("lab-api-0", "lab-api-1")


class KilledError(Exception):
    """The run is killed here."""


class World:
    """A vault, API servers that have its keys only when told to fetch, and Secrets, each with the key it needs."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.vault = {KEYS_IN_USE: EncryptionKeys.first("one").text()}
        self.files: dict[str, tuple[str, ...]] = dict.fromkeys(SERVERS, ("key1",))
        self.secrets = {f"/api/v1/namespaces/default/secrets/s{number}": "key1" for number in range(3)}
        self.deaf: set[str] = set()
        self.refused: dict[str, int] = {}
        self.steps, self.dies_at = 0, -1
        self.made = 1

    def step(self) -> None:
        self.steps += 1
        if self.steps == self.dies_at:
            raise KilledError

    def secret(self, _place: Any, _vault: str, name: str) -> str | None:
        return self.vault.get(name)

    def set_secret(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self.step()
        self.vault[name] = value

    def run_command(self, _place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        self.step()
        assert timeout_s > 0
        if machine in SERVERS:
            if "refresh" in script and machine not in self.deaf:
                self.files[machine] = EncryptionKeys.parse(self.vault[KEYS_IN_USE]).names
            self.check()
            told: dict[str, Any] = {"keys": self.files[machine], "loaded": True, "error": ""}
        else:
            assert script == "longhaul-node encryption"
            told = {"objects": {key: list(self.secrets.values()).count(key) for key in self.secrets.values()}}
        return CommandOutput(stdout=json.dumps(told), stderr="")

    def check(self) -> None:
        """Every server reads every Secret, and what any server would write next."""
        writes = {keys[0] for keys in self.files.values()}
        for server, keys in self.files.items():
            assert writes | set(self.secrets.values()) <= set(keys), f"{server} has only {keys}"

    def items(self, path: str) -> Iterator[dict[str, Any]]:
        assert path == "/api/v1/secrets"
        for one in self.secrets:
            yield {"metadata": {"namespace": "default", "name": one.rpartition("/")[2]}}

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.step()
        assert body == {}
        if path in self.refused:
            raise ApiError("no", status=self.refused[path])
        self.secrets[path] = self.files[SERVERS[0]][0]
        return {}

    def new_key(self) -> str:
        self.made += 1
        return f"secret {self.made}"

    def rotation(self, *, held: Callable[[], bool] = lambda: True) -> Rotation:
        place = place_of(self.environment, self.environment.control_plane.site)
        stand_in: Any = self
        record = EncryptionVault(control=stand_in, place=place, environment=self.environment)
        return Rotation(record=record, api=stand_in, new_key=self.new_key, tell=lambda _line: None, has_lease=held)

    def retired(self) -> tuple[str, ...]:
        return EncryptionKeys.parse(self.vault[RETIRED_KEYS]).names


@pytest.fixture(name="world")
def _world(root: Path) -> World:
    return World(load(root / "stacks" / "Pulumi.lab.yaml"))


def test_every_secret_is_under_the_new_key_and_the_old_one_is_kept(world: World) -> None:
    keys = world.rotation().run()
    assert (keys.phase, keys.names, world.retired()) == (RotationPhase.STEADY, ("key2",), ("key1",))
    assert set(world.secrets.values()) == {"key2"}
    assert set(world.files.values()) == {("key2",)}
    assert world.rotation().run().names == ("key3",)
    assert world.retired() == ("key1", "key2")


def test_a_run_that_is_killed_anywhere_is_finished_by_the_next(world: World) -> None:
    """No moment leaves a server that cannot read a Secret, which every command on a server checks."""
    world.rotation().run()
    for moment in range(1, world.steps + 1):
        again = World(world.environment)
        again.dies_at = moment
        with pytest.raises(KilledError):
            again.rotation().run()
        assert again.rotation().run().names == ("key2",)
        assert set(again.secrets.values()) == {"key2"}
        assert set(again.files.values()) == {("key2",)}
        assert again.retired() == ("key1",)


def test_a_run_that_is_killed_at_its_end_begins_no_further_rotation(world: World) -> None:
    """The list has one key again, and the servers have the one before it."""
    world.vault[KEYS_IN_USE] = EncryptionKeys.first("one").trusting("two").using().text()
    world.files, world.secrets = dict.fromkeys(SERVERS, ("key2", "key1")), dict.fromkeys(world.secrets, "key2")
    world.vault[KEYS_IN_USE] = EncryptionKeys(keys=EncryptionKeys.parse(world.vault[KEYS_IN_USE]).keys[:1]).text()
    assert world.rotation().run().names == ("key2",)
    assert set(world.files.values()) == {("key2",)}
    assert world.rotation().run().names == ("key3",)


def test_a_server_that_does_not_fetch_stops_the_rotation_where_all_read(world: World) -> None:
    world.deaf.add("lab-api-1")
    with pytest.raises(CommandError, match="lab-api-1 has the keys key1 and not key1, key2: it could not fetch them"):
        world.rotation().run()
    assert EncryptionKeys.parse(world.vault[KEYS_IN_USE]).phase is RotationPhase.TRUST
    assert set(world.secrets.values()) == {"key1"}
    world.deaf.clear()
    assert world.rotation().run().names == ("key2",)


@pytest.mark.parametrize(
    ("says", "why"),
    [
        ({"keys": [], "loaded": True, "error": ""}, "lab-api-0 holds none of the vault's keys: `longhaul up"),
        ({"keys": ["key1", "key2"], "loaded": False, "error": ""}, "lab-api-0 has the keys key1, key2, but its kube"),
        ({"keys": ["key1", "key2"], "loaded": False, "error": "403"}, r"but 403\. `longhaul up --env lab` gives it"),
        (None, "lab-api-0 does not report its encryption keys: invalid choice"),
    ],
)
def test_a_server_is_not_believed_before_it_uses_the_keys(
    world: World, monkeypatch: pytest.MonkeyPatch, says: Any, why: str
) -> None:
    world.vault[KEYS_IN_USE] = EncryptionKeys.first("one").trusting("two").text()
    output = CommandOutput(stdout=json.dumps(says) if says else "", stderr="" if says else "invalid choice")
    monkeypatch.setattr(world, "run_command", lambda *_words, **_more: output)
    with pytest.raises(CommandError, match=why):
        world.rotation().run()
    assert EncryptionKeys.parse(world.vault[KEYS_IN_USE]).phase is RotationPhase.TRUST


@pytest.mark.parametrize("says", ['{"keys": ["key1"], "loaded": false, "error": "403"}', "nothing"])
def test_no_rotation_begins_where_a_server_does_not_tell(
    world: World, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    before = dict(world.vault)
    monkeypatch.setattr(world, "run_command", lambda *_words, **_more: CommandOutput(stdout=says, stderr=""))
    with pytest.raises(CommandError, match=r"lab-api-0 (has the keys key1, but 403|does not report)"):
        world.rotation().run()
    assert world.vault == before


def test_secrets_that_went_meanwhile_are_left_and_a_refusal_is_not(world: World) -> None:
    path = next(iter(world.secrets))
    world.refused[path] = 403
    with pytest.raises(ApiError):
        world.rotation().run()
    world.refused[path] = 404
    with pytest.raises(CommandError, match=r"still stored with other keys \(key1: 1\), so those stay in use"):
        world.rotation().run()
    assert EncryptionKeys.parse(world.vault[KEYS_IN_USE]).names == ("key2", "key1")
    assert RETIRED_KEYS not in world.vault
    assert ROUNDS > 1
    world.refused.clear()
    assert world.rotation().run().names == ("key2",)


def test_a_former_key_comes_back_for_a_backup_and_goes_again(world: World) -> None:
    world.rotation().run()
    with pytest.raises(CommandError, match=r"key9 is not a former key in the vault \(key1\)"):
        world.rotation().readmit("key9")
    assert world.rotation().readmit("key1").names == ("key2", "key1")
    world.secrets["/api/v1/namespaces/default/secrets/old"] = "key1"
    assert world.rotation().run().names == ("key2",)
    assert set(world.secrets.values()) == {"key2"}


def test_a_run_that_lost_its_turn_writes_nothing(world: World) -> None:
    before = dict(world.vault)
    with pytest.raises(CommandError, match="another run has taken over this rotation"):
        world.rotation(held=lambda: False).run()
    assert world.vault == before


def told(*keys: str, loaded: bool = True, error: str = "") -> Any:
    held = {"keys": keys, "loaded": loaded, "error": error}
    return parse_answer(json.dumps({"machine": "m", "role": "api", "ready": True, "encryption": held}), "")


def judged(**answers: Any) -> Any:
    named = {name.replace("_", "-"): answer for name, answer in answers.items()}
    endpoint = ApiEndpoint(url="", reached=True)
    return judge_rotations("lab", Observed(cloud={}, answers=named, endpoint=endpoint))


def test_status_tells_a_rotation_that_is_half_done() -> None:
    assert (
        judged(
            a=told("key1"), b=told("key1"), c=parse_answer(to_text(NodeReport(machine="m", role="api", ready=True)), "")
        )
        == ()
    )
    (found,) = judged(a=told("key2", "key1"), b=told("key2", "key1"))
    assert (found.verdict, found.phase) == (StatusVerdict.OK, "use")
    assert found.message == (
        "key2 encrypts, key1 only decrypts: `longhaul rotate --env lab secrets-encryption` continues"
    )


def test_status_tells_servers_that_differ_or_lag() -> None:
    (found,) = judged(a=told("key1"), b=told("key1", "key2"))
    assert found.verdict is StatusVerdict.DEGRADED
    assert found.message.startswith("a has key1; b has key1, key2: they fetch")
    (found,) = judged(a=told("key1", loaded=False), b=told("key1"))
    assert (found.verdict, found.phase) == (StatusVerdict.DEGRADED, "steady")
    assert judged(a=told("key1", loaded=False, error="403")) == ()
