"""Credentials that an API server believes and signs with, and programs that start with other keys."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import api_leave
import credentials
import pytest
from node_config import Node

from components.control_plane import issuing
from components.control_plane.signing_keys import SigningKeys
from longhaul.rotation.servers import digests

FRONTEND = "10.0.3.5:6443"
NODE = Node(machine="e-api-0", role="api", index=0, address="10.0.3.10", version="1.2.3", stores={}, port=6443)


class Machine:
    """A machine with keys, and systemd, which copies them when it starts a unit."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pki, self.asked, self.fails = folder / "pki", list[tuple[str, ...]](), ""
        self.copies = {unit: folder / unit for unit in credentials.COPIES}
        self.departure = api_leave.Departure(left=True, reason="another answers")
        for path in (self.pki, *self.copies.values()):
            path.mkdir()
        monkeypatch.setattr(credentials, "COPIES", self.copies)
        monkeypatch.setattr(credentials.subprocess, "run", self._run)
        monkeypatch.setattr(credentials.api_leave, "leave", self._leave)

    @property
    def keys(self) -> Path:
        return self.pki / credentials.ACCOUNTS

    def _leave(self, node: Node, *, frontend: str, pki: Path) -> api_leave.Departure:
        assert (node, frontend, pki) == (NODE, FRONTEND, self.pki)
        self.asked.append(("leave",))
        return self.departure

    def _run(self, words: Sequence[str], **_more: object) -> subprocess.CompletedProcess[str]:
        self.asked.append(tuple(words[1:]))
        if words[1] in ("start", "restart") and words[2] in self.copies:
            if self.fails == words[2]:
                return subprocess.CompletedProcess(words, 1, stdout="", stderr="Job failed.\n")
            (self.copies[words[2]] / credentials.ACCOUNTS).write_bytes(self.keys.read_bytes())
        return subprocess.CompletedProcess(words, 0, stdout="", stderr="")

    def take_over(self, frontend: str = FRONTEND) -> credentials.Held:
        return credentials.take_over(NODE, frontend=frontend, pki=self.pki)


@pytest.fixture(name="machine")
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path, monkeypatch)
    machine.keys.write_text(SigningKeys.alone(issuing.new_key()).file)
    return machine


def test_it_tells_what_is_public_by_its_digest(machine: Machine) -> None:
    keys = SigningKeys.alone(issuing.new_key()).trusting(issuing.new_key())
    machine.keys.write_text(keys.file)
    pair = issuing.new_authority(common_name="a", days=1, key=issuing.new_key())
    (machine.pki / "nodes-authority.pem").write_text(pair.certificate + pair.key)
    (machine.pki / "rotations.json").write_text('{"service-accounts": {"phase": "trust"}}')
    found = credentials.held(pki=machine.pki)
    assert found.files == {
        credentials.ACCOUNTS: digests("".join(keys.verifies)),
        "nodes-authority.pem": digests(pair.certificate),
    }
    assert len(found.files[credentials.ACCOUNTS]) == 2
    assert found.rotations == {"service-accounts": {"phase": "trust"}}
    assert found.unused == (credentials.API, credentials.CONTROLLER_MANAGER)


def test_programs_start_with_the_keys_once_another_server_answers(machine: Machine) -> None:
    assert machine.take_over().unused == ()
    assert machine.asked == [
        ("leave",),
        ("restart", credentials.API),
        ("stop", api_leave.RETURN),
        ("--no-block", "start", "longhaul-api.target"),
        ("restart", credentials.CONTROLLER_MANAGER),
    ]
    machine.asked.clear()
    assert machine.take_over().error == ""
    assert machine.asked == [], "nothing is started anew without a reason"


def test_it_stays_where_no_other_server_answers(machine: Machine) -> None:
    machine.departure = api_leave.Departure(left=False, reason="no other API server answers at 10.0.3.5:6443")
    found = machine.take_over()
    assert (found.error, machine.asked) == ("no other API server answers at 10.0.3.5:6443", [("leave",)])
    assert credentials.API in found.unused


def test_the_only_server_starts_anew_at_once(machine: Machine) -> None:
    assert machine.take_over(frontend="").unused == ()
    assert machine.asked == [("restart", credentials.API), ("restart", credentials.CONTROLLER_MANAGER)]


def test_a_start_that_fails_is_told_and_the_timer_that_starts_it_again_stays(machine: Machine) -> None:
    machine.fails = credentials.API
    assert machine.take_over().error == "Job failed."
    assert machine.asked == [("leave",), ("restart", credentials.API)]
