"""Room for an etcd cluster: which member is asked, and what is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clouds.azure import control
from clouds.azure.session import AzureError
from clouds.base.control import CommandOutput
from components.model import Environment, Role, load
from longhaul.exits import CommandError
from longhaul.reclaiming import reclaim


@pytest.fixture(name="environment")
def _environment(root: Path) -> Environment:
    return load(root / "stacks" / "Pulumi.lab.yaml")


def answers(patch: pytest.MonkeyPatch, *told: Any) -> list[tuple[str, str]]:
    asked: list[tuple[str, str]] = []

    def run(_place: Any, machine: str, script: str, *, timeout_s: float) -> CommandOutput:
        assert timeout_s >= 600
        said = told[len(asked)]
        asked.append((machine, script))
        if isinstance(said, AzureError):
            raise said
        return CommandOutput(stdout=said if isinstance(said, str) else json.dumps(said), stderr="")

    patch.setattr(control, "run_command", run)
    return asked


def test_the_first_member_that_answers_does_it(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    done = {"done": True, "reason": "3 members have room again", "sizes": {"lab-events-0": [16 << 20, 1 << 19]}}
    asked = answers(monkeypatch, AzureError("it is off"), done)
    told = reclaim(environment, Role.EVENTS)
    assert told == "3 members have room again; lab-events-0 16.0 to 0.5 MiB"
    assert asked == [("lab-events-0", "longhaul-node reclaim"), ("lab-events-1", "longhaul-node reclaim")]


def test_each_members_reason_is_told_when_none_does(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = {"done": False, "reason": "no member answers with a quorum", "sizes": {}}
    answers(monkeypatch, AzureError("it is off"), refused, "longhaul-node: error: invalid choice")
    with pytest.raises(CommandError) as failed:
        reclaim(environment, Role.ETCD)
    for reason in ("lab-etcd-0: it is off", "lab-etcd-1: no member answers", "lab-etcd-2: longhaul-node: error"):
        assert reason in str(failed.value)
