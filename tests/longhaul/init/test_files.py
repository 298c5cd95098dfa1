"""Files that the command writes: whole or not at all, never over another file, and beside existing ones."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import yaml

from components.model import load
from longhaul.project import writing
from longhaul.terminal.exits import Exit
from tests.longhaul.init.asked import ACCESS, AZURE, HOST_KEY, LEAST, RACK, Here, Person
from tests.support.hosts import stack_file


def test_an_interruption_while_it_is_checked_leaves_nothing(here: Here) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    here.monkeypatch.setattr(sys.modules["components.model.loading.load"], "check_neighbours", interrupted)
    assert here.init(*LEAST, *RACK).code == Exit.INTERRUPTED
    assert here.names() == []


def test_files_that_cannot_all_be_put_in_place_are_taken_back(here: Here) -> None:
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "Pulumi.train.yaml":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    here.monkeypatch.setattr(Path, "replace", full)
    done = here.init(*LEAST, *RACK)
    assert done.code == Exit.FAILED
    assert "No space left on device" in done.err
    assert here.names() == []


def test_a_file_that_is_there_is_not_overwritten(here: Here) -> None:
    (here.stacks / "Pulumi.train.yaml").write_text("mine")
    person = Person("train")
    done = here.init(typed=person)
    assert done.code == Exit.USAGE
    assert "is there already" in done.err
    assert (here.stacks / "Pulumi.train.yaml").read_text() == "mine"


def test_a_hosts_file_that_is_there_is_not_overwritten(here: Here) -> None:
    (here.stacks / "hosts.train.yaml").write_text("mine")
    assert here.init(*LEAST, *RACK).code == Exit.USAGE
    assert here.names() == ["hosts.train.yaml"]
    assert (here.stacks / "hosts.train.yaml").read_text() == "mine"


def test_force_replaces_but_keeps_what_encrypts_the_state(here: Here) -> None:
    key = "azurekeyvault://longhaul-state.vault.azure.net/keys/pulumi"
    path = here.stacks / "Pulumi.train.yaml"
    path.write_text(f"secretsprovider: {key}\nencryptedkey: Zm9v\nconfig:\n  longhaul:environment: {{name: old}}\n")
    assert here.init(*LEAST, "--force").code == Exit.OK
    content = yaml.safe_load(path.read_text())
    assert (content["secretsprovider"], content["encryptedkey"]) == (key, "Zm9v")
    assert here.load().name == "train"


def test_force_does_not_lose_a_key_that_it_cannot_read(here: Here) -> None:
    (here.stacks / "Pulumi.train.yaml").write_text("{")
    done = here.init(*LEAST, "--force")
    assert done.code == Exit.FAILED
    assert "move it away first" in done.err
    assert (here.stacks / "Pulumi.train.yaml").read_text() == "{"


def test_what_only_the_whole_shows_is_said_of_the_file_that_it_would_be(here: Here) -> None:
    done = here.init(*LEAST, "--gateway", "203.0.113.10", "--host", "gw-0")
    assert done.code == Exit.USAGE
    assert str(here.stacks / "hosts.train.yaml") in done.err
    assert ".init-" not in done.err
    assert here.names() == []


def test_the_range_that_is_offered_is_nobody_elses(here: Here) -> None:
    for name in ("lab", "prod"):
        shutil.copy(stack_file(name), here.stacks)
    (here.stacks / "Pulumi.broken.yaml").write_text("config: [")
    assert here.init(*LEAST).code == Exit.OK
    assert str(load(here.stacks / "Pulumi.train.yaml").supernet) == "10.80.0.0/12"
    assert here.init("--env", "next", *AZURE, *ACCESS).code == Exit.OK
    assert str(load(here.stacks / "Pulumi.next.yaml").supernet) == "10.96.0.0/12"


def test_a_range_of_another_environment_is_refused(here: Here) -> None:
    assert here.init(*LEAST).code == Exit.OK
    done = here.init("--env", "next", *AZURE, *ACCESS, "--supernet", "10.8.0.0/16")
    assert done.code == Exit.USAGE
    assert "--supernet: 10.8.0.0/16 overlaps 10.0.0.0/12" in done.err


@pytest.mark.parametrize("more", [(), ("--force",)])
def test_a_gateway_of_another_environment_is_refused(here: Here, more: tuple[str, ...]) -> None:
    """Also where the file that is replaced had another."""
    assert here.init(*LEAST, *RACK).code == Exit.OK
    elsewhere = f"203.0.113.11 {HOST_KEY}"
    own = ("--env", "next", *AZURE, *ACCESS)
    assert not more or here.init(*own, "--gateway", elsewhere, "--host", "cpu-0").code == Exit.OK
    before = {path: path.read_text() for path in here.stacks.iterdir()}
    done = here.init(*own, *RACK, *more)
    assert done.code == Exit.USAGE
    assert "203.0.113.10 is the address of a gateway of train too" in done.err
    assert {path: path.read_text() for path in here.stacks.iterdir()} == before


def test_two_runs_at_once_do_not_both_win(here: Here) -> None:
    """A run that began before the file existed checks again before it writes."""

    def another(*_: object) -> None:
        (here.stacks / "Pulumi.train.yaml").write_text("theirs")

    loaded = writing._load

    def slow(*args: Path, **named: Path) -> object:
        another()
        return loaded(*args, **named)  # type: ignore[arg-type]

    here.monkeypatch.setattr(writing, "_load", slow)
    assert here.init(*LEAST).code == Exit.USAGE
    assert (here.stacks / "Pulumi.train.yaml").read_text() == "theirs"
