"""Restores from before a rotation: API servers get the former keys back before they start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clouds.base.control import CommandOutput
from components.model import Environment, Role, control_machines, load, plan
from components.model.control_plane.machines import members
from components.model.secrets.encryption_keys import EncryptionKeys, RotationPhase
from components.model.secrets.vault import KEYS_IN_USE, RETIRED_KEYS
from components.model.sites.places import place_of
from longhaul.restore.former_keys import readmit_former
from longhaul.terminal.exits import CommandError
from longhaul.vault.encryption_keys import EncryptionVault


class World:
    """A vault, stopped API servers that have its keys only when told to fetch, and members that count."""

    def __init__(self, environment: Environment, *, retired: int, written: dict[str, int]) -> None:
        self.environment, self.written = environment, written
        all_keys = EncryptionKeys.first("s1").trusting("s2").trusting("s3").keys
        self.vault = {
            KEYS_IN_USE: EncryptionKeys(keys=all_keys[-1:]).text(),
            RETIRED_KEYS: EncryptionKeys(keys=all_keys[:retired]).text(),
        }
        self.servers: dict[str, str] = {}
        """Keys that each server has."""
        self.fetches = True
        self.said: list[str] = []

    def secret(self, _place: Any, _vault: str, name: str) -> str | None:
        return self.vault.get(name)

    def set_secret(self, _place: Any, _vault: str, name: str, value: str) -> None:
        self.vault[name] = value

    def run_command(self, _place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        assert timeout_s > 0
        if script == "longhaul-node encryption":
            return CommandOutput(stdout=json.dumps({"objects": self.written}), stderr="")
        if script.startswith("systemctl start longhaul-secrets-refresh.service && ") and self.fetches:
            self.servers[machine] = self.vault[KEYS_IN_USE]
        has = EncryptionKeys.parse(self.servers[machine]).names if machine in self.servers else ()
        return CommandOutput(stdout=json.dumps({"keys": has, "loaded": False, "error": "it is away"}), stderr="")

    def readmit(self) -> None:
        stand_in: Any = self
        place = place_of(self.environment, self.environment.control_plane.site)
        record = EncryptionVault(control=stand_in, place=place, environment=self.environment)
        readmit_former(record, say=self.said.append)

    @property
    def keys(self) -> EncryptionKeys:
        return EncryptionKeys.parse(self.vault[KEYS_IN_USE])


def servers(environment: Environment) -> list[str]:
    return [one.name for one in members(control_machines(environment, plan(environment)), Role.API)]


@pytest.fixture(scope="module", name="environment")
def _environment() -> Environment:
    return load(Path(__file__).parents[3] / "stacks" / "Pulumi.lab.yaml")


def test_every_server_has_the_keys_that_the_data_need_before_it_starts(environment: Environment) -> None:
    world = World(environment, retired=2, written={"key1": 3, "key3": 1, "": 2})
    world.readmit()
    assert world.keys.names == ("key3", "key1")
    assert world.keys.phase is RotationPhase.USE, "the next rotation retires it again"
    assert set(world.servers.values()) == {world.vault[KEYS_IN_USE]}
    assert list(world.servers) == servers(environment)
    assert "also read with key1" in world.said[0]


def test_a_run_that_ended_between_the_vault_and_a_server_is_finished_by_the_next(environment: Environment) -> None:
    world = World(environment, retired=2, written={"key1": 3})
    world.fetches = False
    with pytest.raises(CommandError, match="-api-0 does not have the keys key3, key1: it could not fetch"):
        world.readmit()
    world.fetches = True
    world.readmit()
    assert world.keys.names == ("key3", "key1")
    assert list(world.servers) == servers(environment)


def test_without_a_rotation_nothing_is_asked_of_servers(environment: Environment) -> None:
    world = World(environment, retired=2, written={"key3": 3})
    before = dict(world.vault)
    world.readmit()
    assert (world.vault, world.servers, world.said) == (before, {}, [])
    del world.vault[KEYS_IN_USE]
    world.readmit()


def test_a_key_that_is_lost_is_told_and_keeps_no_other_one_back(environment: Environment) -> None:
    world = World(environment, retired=1, written={"key1": 3, "key2": 4})
    world.readmit()
    assert world.keys.names == ("key3", "key1")
    assert "the vault does not have (key2: 4)" in world.said[0]
