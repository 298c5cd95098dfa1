"""Room for an etcd cluster: which member is asked, and what is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clouds.azure.control import AzureControlAccess
from clouds.azure.errors import AzureError
from clouds.base.control import CommandOutput, MachineView
from components.model import Environment, Role, load
from longhaul.terminal.exits import CommandError
from longhaul.up.etcd_defragmentation import PROBE, reclaim

DONE = {"done": True, "reason": "3 members have room again", "sizes": {"lab-events-0": [16 << 20, 1 << 19]}}
NO_QUORUM = {"done": False, "reason": "no member answers with a quorum", "sizes": {}, "ask_another": True}


@pytest.fixture(name="environment")
def _environment(root: Path) -> Environment:
    return load(root / "stacks" / "Pulumi.lab.yaml")


def answers(
    patch: pytest.MonkeyPatch, *told: Any, power: dict[str, str] | None = None, hung: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    """Let machines answer in turn, and return what is asked of them. ``power``: of the machines that do not run; an
    empty one is not there. ``hung``: machines whose agent hangs."""
    asked: list[tuple[str, str]] = []

    def run(_place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        if machine in hung:
            assert timeout_s <= 300, "it is not waited for as a reclaim is"
            raise AzureError(f"{machine}: the run command did not end within {timeout_s:.0f} s", code="TimedOut")
        if script == PROBE:
            return CommandOutput(stdout="", stderr="")
        assert timeout_s >= 600
        said = told[len(asked)]
        asked.append((machine, script))
        if isinstance(said, AzureError):
            raise said
        if isinstance(said, str):
            return CommandOutput(stdout="", stderr=said)
        return CommandOutput(stdout=json.dumps(said), stderr="")

    def machines(_place: Any) -> list[MachineView]:
        names = [f"lab-{role}-{index}" for role in ("etcd", "events") for index in range(3)]
        words = {name: (power or {}).get(name, "running") for name in names}
        return [MachineView(name=name, provisioning="Succeeded", power=word) for name, word in words.items() if word]

    patch.setattr(AzureControlAccess, "run_command", staticmethod(run))
    patch.setattr(AzureControlAccess, "machines", staticmethod(machines))
    return asked


@pytest.mark.parametrize("power", ["", "stopped", "deallocated"])
def test_a_machine_that_is_off_or_gone_is_not_asked(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, power: str
) -> None:
    asked = answers(monkeypatch, DONE, power={"lab-events-0": power})
    told = reclaim(environment, Role.EVENTS, tell=print)
    assert told == "3 members have room again; lab-events-0 16.0 to 0.5 MiB"
    assert asked == [("lab-events-1", "longhaul-node reclaim")]


def test_the_next_member_is_asked_when_nothing_was_begun(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, NO_QUORUM, DONE)
    assert reclaim(environment, Role.EVENTS, tell=print).startswith("3 members have room again")
    assert [machine for machine, _ in asked] == ["lab-events-0", "lab-events-1"]


def test_a_machine_whose_agent_hangs_is_named_and_the_next_is_asked(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answers(monkeypatch, DONE, hung=("lab-events-0",))
    said: list[str] = []
    assert reclaim(environment, Role.EVENTS, tell=said.append).startswith("3 members have room again")
    assert [machine for machine, _ in asked] == ["lab-events-1"]
    (line,) = said
    assert line.startswith("lab-events-0 is passed over: its agent does not answer (")
    assert "did not end within 300 s" in line


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (AzureError("lab-events-0: the run command did not end within 3600 s", code="TimedOut"), "did not end"),
        (AzureError("lab-events-0: no answer: ServiceRequestError"), "no answer"),
        ("Traceback (most recent call last):\nOSError: it broke", "OSError: it broke"),
        ("", "it said nothing"),
        ({"done": False, "reason": "10.0.1.10 does not answer after its defragmentation"}, "does not answer after"),
        ({"done": False, "reason": "another one is under way", "ask_another": False}, "under way"),
    ],
    ids=["time", "poll", "broken", "silent", "halfway", "locked"],
)
def test_no_other_member_is_asked_while_the_first_may_be_at_it(
    environment: Environment, monkeypatch: pytest.MonkeyPatch, said: Any, told: str
) -> None:
    asked = answers(monkeypatch, said, DONE)
    with pytest.raises(CommandError, match=told) as failed:
        reclaim(environment, Role.EVENTS, tell=print)
    assert [machine for machine, _ in asked] == ["lab-events-0"]
    assert "lab-events-0" in str(failed.value)
    assert "--reclaim events" in str(failed.value), "it says what to do"


def test_each_members_reason_is_told_when_none_does(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, NO_QUORUM, NO_QUORUM, power={"lab-etcd-0": "deallocated"})
    with pytest.raises(CommandError) as failed:
        reclaim(environment, Role.ETCD, tell=print)
    for reason in ("lab-etcd-0: it is deallocated", "lab-etcd-1: no member answers", "lab-etcd-2: no member answers"):
        assert reason in str(failed.value)
