"""`longhaul hosts scan-keys`: keys are shown before they are pinned, and nothing else in the files changes."""

from __future__ import annotations

import base64
import difflib
import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from longhaul import cli
from longhaul.hosts import scan_keys
from longhaul.hosts.host_keys import fingerprint
from longhaul.hosts.pinning import pin_hosts
from longhaul.terminal.exits import CommandError, Exit
from tests.longhaul.init.asked import ACCESS, AZURE, HOST_KEY, Here, Person

KEYS = {f"198.51.100.{last}": f"ssh-ed25519 {HOST_KEY.split()[1][:-2]}{last}" for last in (20, 21)}
NODES = {f"10.1.32.{10 + index}": f"ssh-ed25519 {HOST_KEY.split()[1][:-2]}0{index}" for index in range(3)}

HOST, ED25519 = "10.1.32.10", NODES["10.1.32.10"]
_PARTS = (b"ecdsa-sha2-nistp256", b"nistp256", bytes(65))
ECDSA = f"ecdsa-sha2-nistp256 {base64.b64encode(b''.join(len(p).to_bytes(4) + p for p in _PARTS)).decode()}"
OTHER = f"{ECDSA[:-8]}B{ECDSA[-7:]}"


@dataclass
class Room:
    """A site of two gateways and three hosts, and what answers there."""

    here: Here
    answers: dict[str, str]

    def scan(self, *words: str, typed: str | None = None) -> tuple[int, str, str]:
        if typed is not None:
            self.here.monkeypatch.setattr(sys, "stdin", Person(typed))
            self.here.monkeypatch.setattr("builtins.input", lambda _: typed)
        code = cli.main(["hosts", "scan-keys", "--env", "train", "--project", str(self.here.project.root), *words])
        said = self.here.capsys.readouterr()
        return code, said.out, said.err

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.here.stacks.iterdir()}


@pytest.fixture(name="room")
def _room(here: Here, monkeypatch: pytest.MonkeyPatch) -> Room:
    site = ("--onprem-site", "colo 198.51.100.20 198.51.100.21", "--hosts", "3x8")
    assert here.init("--env", "train", *AZURE, *ACCESS, *site).code == Exit.OK
    room = Room(here=here, answers={**KEYS, **NODES})

    def keyscan(addresses: Sequence[str], kinds: Collection[str]) -> str:
        """Answer as ssh-keyscan(1) does: a line for each key of a wanted type."""
        keys = ((one, key) for one in addresses for key in room.answers.get(one, "").splitlines())
        return "".join(f"{one} {key}\n" for one, key in keys if key.split()[0] in kinds)

    monkeypatch.setattr(scan_keys, "keyscan", keyscan)
    return room


def test_keys_are_shown_and_pinned_and_nothing_else_changes(room: Room) -> None:
    before = room.files()
    code, out, err = room.scan(typed="yes")
    assert (code, "Traceback" in err) == (Exit.OK, False)
    assert all(fingerprint(key) in out for key in room.answers.values())
    environment = room.here.load()
    assert [gateway.host_key for gateway in environment.sites["colo"].gateways] == list(KEYS.values())
    assert [host.host_key for host in environment.hosts] == list(NODES.values())
    for name, text in room.files().items():
        lines = [line for line in difflib.ndiff(before[name].splitlines(), text.splitlines()) if line[0] in "+-"]
        assert [line.split()[:2] for line in lines] == [["+", "host_key:"]] * len(lines)
    assert room.scan()[0] == Exit.OK


def test_nothing_is_pinned_without_consent(room: Room) -> None:
    before = room.files()
    code, out, err = room.scan()
    assert code == Exit.USAGE
    assert "SHA256:" in out
    assert "pass --yes" in err
    assert room.scan(typed="no")[0] == Exit.FAILED
    assert room.files() == before


def test_another_key_than_the_pinned_one_is_never_pinned(room: Room) -> None:
    assert room.scan("--yes")[0] == Exit.OK
    before = room.files()
    room.answers["10.1.32.11"] = KEYS["198.51.100.20"]
    del room.answers["10.1.32.12"]
    code, out, _ = room.scan("--yes")
    assert code == Exit.FAILED
    assert "another key answers than the pinned one" in out
    assert "no answer" in out
    assert room.files() == before


@pytest.mark.parametrize(
    ("answers", "code", "said"),
    [
        (f"{ED25519}\n{ECDSA}", Exit.OK, "(ECDSA)"),
        (f"{ED25519}\n{OTHER}", Exit.FAILED, "another key answers"),
        (ED25519, Exit.FAILED, "another key answers"),
    ],
    ids=["it", "another", "another type alone"],
)
def test_a_pinned_key_is_compared_with_the_answer_of_its_type(room: Room, answers: str, code: Exit, said: str) -> None:
    assert room.scan("--yes")[0] == Exit.OK
    ((name, text),) = ((name, text) for name, text in room.files().items() if NODES[HOST] in text)
    (room.here.stacks / name).write_text(text.replace(NODES[HOST], ECDSA))
    room.answers[HOST] = answers
    given, out, _ = room.scan()
    assert (given, said in out) == (code, True)


def test_one_without_a_pin_is_asked_for_the_best_type_alone(room: Room) -> None:
    room.answers[HOST] = ECDSA
    assert room.scan("--yes", "--limit", "nodes")[0] == Exit.FAILED
    assert [host.host_key for host in room.here.load().hosts].count(None) == 1


def test_a_part_and_for_programs(room: Room) -> None:
    code, out, _ = room.scan("--yes", "--json", "--limit", "gateways")
    assert code == Exit.OK
    said: dict[str, Any] = json.loads(out)
    assert [(one["name"], one["state"]) for one in said["machines"]] == [("train-gw-0", "new"), ("train-gw-1", "new")]
    assert [host.host_key for host in room.here.load().hosts] == [None] * 3


@pytest.mark.parametrize("words", [("scan-keys", "--preflight"), ("--yes",)])
def test_options_that_belong_elsewhere(room: Room, words: tuple[str, ...]) -> None:
    code = cli.main(["hosts", *words, "--env", "train", "--project", str(room.here.project.root)])
    assert code == Exit.USAGE


def test_every_style_of_file() -> None:
    text = (
        "hosts:\n  - {name: a, site: colo, gpus: 8 }  # first\n"
        "  - name: b  # second\n    site: colo\n  - site: c\n    name: c"
    )
    assert pin_hosts(text, {"a": "k 1", "b": "k 2", "c": "k 3"}) == (
        "hosts:\n  - {name: a, site: colo, gpus: 8, host_key: k 1 }  # first\n"
        "  - name: b  # second\n    host_key: k 2\n    site: colo\n  - site: c\n    host_key: k 3\n    name: c"
    )
    with pytest.raises(CommandError, match="change it by hand"):
        pin_hosts("hosts:\n  - {name: a, host_key: }\n", {"a": "k 1"})
