"""Checks that run other commands (status, preview, a second ``up``, racks), and the one that restarts machines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from components.model import Environment
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from longhaul.acceptance import cluster, disruption
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.disruption import Calls, calling
from longhaul.acceptance.steps import FinishedCommand
from longhaul.acceptance.target import AcceptanceTarget
from longhaul.acceptance.time_limit import Deadline, LateError
from longhaul.terminal.exits import Exit
from tests.longhaul.acceptance.conftest import Load, raw_environment

NOTHING = {"create": 0, "update": 0, "replace": 0, "delete": 0, "same": 9, "objects": {"create": 0, "same": 2}}
HEALTHY: dict[str, Any] = {
    "machines": [{"name": "dev-etcd-0", "verdict": "ok"}],
    "etcd_clusters": {"etcd": {"verdict": "ok"}, "events": {"verdict": "ok"}},
    "api": {"verdict": "ok", "message": "2 of 2 servers ready"},
    "links": [{"name": "weu-use1", "verdict": "unknown", "message": "not asked"}],
    "nodes": [],
    "pools": [],
    "addons": [{"name": "coredns", "verdict": "ok"}],
}


@dataclass
class Scripted:
    """Commands that give their answers in turn for each verb, and then repeat the last one."""

    answers: dict[str, list[tuple[int, Any]]]
    said: str = ""
    ran: list[str] = field(default_factory=list)

    def run(self, verb: str, *words: str, limit: Deadline) -> FinishedCommand:
        self.ran.append(" ".join((verb, *words)))
        answers = self.answers[verb]
        code, content = answers.pop(0) if len(answers) > 1 else answers[0]
        return FinishedCommand(code=code, stdout=json.dumps(content), last_line=self.said, late=not limit.remaining_s())

    def tail(self) -> str:
        return ""


def test_status_is_asked_until_all_is_well(target: AcceptanceTarget) -> None:
    unhealthy = {**HEALTHY, "api": {"verdict": "degraded", "message": "1 of 2 servers ready"}}
    commands = Scripted({"status": [(Exit.FAILED, unhealthy), (Exit.OK, HEALTHY)]})
    said = cluster.components(replace(target, commands=commands))
    assert said == "the API (2 of 2 servers ready), 1 machine, 2 etcd clusters, 1 link, 0 nodes, 1 add-on: all healthy"
    assert commands.ran == ["status --json"] * 2


def test_what_stays_unwell_is_named_and_what_is_unknown_is_not(target: AcceptanceTarget) -> None:
    etcd = {"verdict": "down", "message": "1 of 3 members healthy, quorum is 2"}
    unhealthy = {**HEALTHY, "etcd_clusters": {"etcd": etcd}}
    with pytest.raises(LateError, match="etcd cluster is down: 1 of 3") as failed:
        cluster.components(replace(target, commands=Scripted({"status": [(Exit.FAILED, unhealthy)]})))
    assert "weu-use1" not in str(failed.value)


@pytest.mark.parametrize("code", [Exit.UNREACHABLE, Exit.USAGE])
def test_a_status_that_cannot_ask_is_not_asked_again(target: AcceptanceTarget, code: Exit) -> None:
    commands = Scripted({"status": [(code, None)]}, said="dev cannot be asked: no Azure credential works")
    with pytest.raises(NotSoError, match=f"ended with {code}: dev cannot be asked: no Azure credential"):
        cluster.components(replace(target, commands=commands))
    assert commands.ran == ["status --json"]


def test_where_no_machine_is_there_none_is_awaited(target: AcceptanceTarget) -> None:
    none = {**HEALTHY, "machines": [{"name": "dev-etcd-0", "verdict": "missing", "message": "it is not in the cloud"}]}
    commands = Scripted({"status": [(Exit.FAILED, none)]})
    with pytest.raises(NotSoError, match="no machine of the control plane is in its cloud"):
        cluster.components(replace(target, commands=commands))
    assert commands.ran == ["status --json"]


def test_one_machine_that_is_missing_is_awaited(target: AcceptanceTarget) -> None:
    some = {
        **HEALTHY,
        "machines": [*HEALTHY["machines"], {"name": "dev-etcd-1", "verdict": "missing", "message": "gone"}],
    }
    commands = Scripted({"status": [(Exit.FAILED, some), (Exit.OK, HEALTHY)]})
    assert "all healthy" in cluster.components(replace(target, commands=commands))


PREVIEW = "plan --raw --format json"


def _answers(**other: list[tuple[int, Any]]) -> Scripted:
    hosts = {"hosts": {"dev-node-0": {"changed": 0}, "dev-gw-0": {"changed": 0}}}
    return Scripted({"plan": [(0, NOTHING)], "up": [(0, None)], "hosts": [(0, hosts)], **other})


def test_a_second_up_and_what_previews_and_racks_say(target: AcceptanceTarget) -> None:
    commands = _answers()
    assert "2 rack machines change nothing" in cluster.unchanged(replace(target, commands=commands))
    assert commands.ran == [PREVIEW, "up --yes", PREVIEW, "hosts --json"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (
            {"plan": [(0, {**NOTHING, "update": 2})]},
            "before a second `up` its preview would change: infrastructure: 2",
        ),
        (
            {"plan": [(0, NOTHING), (0, {**NOTHING, "objects": {"create": 1}})]},
            "after a second .* objects: 1 to create",
        ),
        ({"up": [(Exit.FAILED, None)]}, "`longhaul up` ended with 1"),
        ({"hosts": [(0, {"hosts": {"dev-gw-0": {"changed": 3}}})]}, "dev-gw-0': 3"),
    ],
)
def test_whatever_changes_again_is_found(
    target: AcceptanceTarget, other: dict[str, list[tuple[int, Any]]], said: str
) -> None:
    with pytest.raises(NotSoError, match=said):
        cluster.unchanged(replace(target, commands=_answers(**other)))


def test_calls_count_the_longest_time_without_an_answer() -> None:
    times: Iterator[float] = iter((0.0, 1.0, 4.0, 9.0, 10.0))
    calls = Calls(clock=lambda: next(times))
    for answered in (True, False, True, True):
        calls.note(answered=answered)
    assert (calls.made, calls.failed, calls.longest_s) == (4, 1, 8.0)


class Away(Api):
    """An API that does not answer."""

    def __init__(self) -> None:
        self.asked = 0

    def get(self, path: str, **query: str) -> dict[str, Any]:
        self.asked += 1
        raise ApiError(f"{path} does not answer")


def test_calls_go_on_until_the_end_of_the_block() -> None:
    api = Away()
    with calling(api) as calls:
        pass
    assert calls.failed == calls.made == api.asked


@pytest.mark.parametrize(("gap_s", "healthy"), [(disruption.GAP_S, True), (disruption.GAP_S + 1, False)])
def test_a_member_and_a_server_are_restarted_in_turn(
    target: AcceptanceTarget, monkeypatch: pytest.MonkeyPatch, gap_s: float, healthy: bool
) -> None:
    restarted: list[str] = []

    def note(environment: Environment, machine: str) -> None:
        restarted.append(machine)

    monkeypatch.setattr(disruption, "restart", note)
    monkeypatch.setattr(disruption, "Calls", lambda: Calls(made=9, longest_s=gap_s))
    monkeypatch.setattr(disruption, "BETWEEN_S", 0.01)
    target = replace(target, commands=Scripted({"status": [(Exit.OK, HEALTHY)]}))
    if healthy:
        assert "dev-api-0" in disruption.restarts(target)
        assert restarted == ["dev-etcd-0", "dev-api-0"]
    else:
        with pytest.raises(NotSoError, match=r"dev-etcd-0.*more than 60 s"):
            disruption.restarts(target)


def test_where_nobody_goes_on_nothing_is_restarted(load_raw: Load, target: AcceptanceTarget) -> None:
    raw = raw_environment()
    raw["control_plane"]["api"]["servers"] = 1
    with pytest.raises(NotApplicableError, match="1 API servers"):
        disruption.restarts(replace(target, environment=load_raw(raw)))
