"""The queue of requests, and the answers that the API gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from controller.events import Events
from controller.judge import WaitError
from controller.metrics import Metrics
from controller.request import RefusedError, Request
from controller.requests import JOINS_AT_ONCE, PATH, REFUSED_KEPT_S, Requests
from controller.signing import Signer

from components.control_plane import issuing
from tests.images.fake_api import NODE, FakeApi, Held, joining, renewing


class Judge:
    """A judge with a test's verdict."""

    def __init__(self) -> None:
        self.verdict: Exception | None = None
        self.asked: list[str] = []

    def check(self, request: Request, *, seen_at: float) -> None:
        self.asked.append(request.user)
        if self.verdict:
            raise self.verdict


class Desk:
    def __init__(self, folder: Path) -> None:
        pair = issuing.new_authority(common_name="lab nodes", days=1, key=issuing.new_key())
        (folder / "authority.pem").write_text(pair.certificate + pair.key)
        self.api, self.held, self.judge, self.now = FakeApi(), Held(), Judge(), 1000.0
        self.granted_: list[str] = []
        self.joined_: list[str] = []
        self.metrics = Metrics()
        self.requests = Requests(
            self.api,
            self.held,  # type: ignore[arg-type]
            signer=Signer(folder / "authority.pem"),
            grants=self,
            events=Events(self.api, instance="lab-api-0"),
            metrics=self.metrics,
            clock=lambda: self.now,
            wall=lambda: self.wall,
        )
        self.wall = 0.0

    def granted(self, request: Request) -> None:
        self.granted_.append(request.node)

    def joined(self, node: str) -> None:
        self.joined_.append(node)

    def work(self) -> float:
        return self.requests.work(self.judge)  # type: ignore[arg-type]


@pytest.fixture(name="desk")
def _desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_granted_request_is_approved_and_then_signed_once(desk: Desk) -> None:
    desk.held.documents = [joining()]
    desk.work()
    desk.work()
    [approval], [status] = desk.api.said("/approval"), desk.api.said("/status")
    [condition] = approval["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Approved", "True")
    assert status["status"]["certificate"]
    assert desk.granted_ == [NODE]
    assert desk.joined_ == []
    assert 'requests_granted_total{joining="true"' in desk.metrics.text()


def test_with_its_own_certificate_a_node_has_joined(desk: Desk) -> None:
    desk.held.documents = [renewing()]
    desk.work()
    assert desk.joined_ == [NODE]


def test_a_refused_one_is_denied_with_reason_and_event(desk: Desk) -> None:
    desk.held.documents = [joining()]
    desk.judge.verdict = RefusedError("UnknownMachine", "there is no machine")
    desk.work()
    desk.work()
    [approval], [event] = desk.api.said("/approval"), desk.api.said("/events")
    [condition] = approval["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Denied", "UnknownMachine")
    assert condition["message"] == "asked by longhaul:join: there is no machine"
    assert (event["reason"], event["type"]) == ("NodeRequestDenied", "Warning")
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"]["kind"] == "CertificateSigningRequest"
    assert "UnknownMachine" in event["message"]
    assert desk.api.said("/status") == []


def test_what_somebody_approved_by_hand_is_judged_all_the_same(desk: Desk) -> None:
    document = joining()
    document["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    desk.held.documents = [document]
    desk.judge.verdict = RefusedError("UnknownMachine", "there is no machine")
    desk.work()
    [status] = desk.api.said("/status")
    assert [each["type"] for each in status["status"]["conditions"]] == ["Approved", "Failed"]
    assert "certificate" not in status["status"]


def test_one_that_was_approved_before_a_crash_is_signed(desk: Desk) -> None:
    document = joining()
    document["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    desk.held.documents = [document]
    desk.work()
    assert desk.api.said("/approval") == []
    assert desk.api.said("/status")[0]["status"]["certificate"]


def test_who_waits_is_told_why_once_and_not_at_once(desk: Desk) -> None:
    desk.held.documents = [joining()]
    desk.judge.verdict = WaitError("use1: DescribeInstances: 503")
    assert desk.work() <= 1
    assert desk.api.written == []
    desk.now += 61
    desk.work()
    desk.work()
    [event] = desk.api.said("/events")
    assert (event["reason"], event["message"]) == ("NodeRequestWaiting", "use1: DescribeInstances: 503")


def test_joins_are_smoothed_renewals_are_not(desk: Desk) -> None:
    many = 40
    desk.held.documents = [joining(f"i-{index:017}") for index in range(many)]
    due = desk.work()
    assert len(desk.granted_) == JOINS_AT_ONCE
    assert 0 < due <= 0.1
    desk.held.documents.append(renewing())
    desk.work()
    assert desk.joined_ == [NODE]
    for _ in range(3):
        desk.now += 1
        desk.work()
    assert len(set(desk.granted_) - {NODE}) == many


def test_the_judge_is_asked_of_those_alone_who_can_be_let_in(desk: Desk) -> None:
    desk.held.documents = [joining(f"i-{index:017}") for index in range(40)]
    for _ in range(5):
        desk.work()
    assert len(desk.judge.asked) == JOINS_AT_ONCE


def test_nodes_that_are_in_do_not_stand_behind_those_who_join(desk: Desk) -> None:
    desk.held.documents = [joining(), renewing()]
    desk.held.documents[0]["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    desk.work()
    assert desk.judge.asked == [f"system:node:{NODE}", "longhaul:join"]


def test_one_request_does_not_end_everybody_s(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    bad = joining()
    del bad["spec"]["request"]
    desk.held.documents = [bad, joining()]
    desk.work()
    assert len(desk.granted_) == 1
    assert f"request {bad['metadata']['name']} cannot be worked on" in caplog.text


def test_a_refused_request_is_deleted_after_a_while(desk: Desk) -> None:
    document = joining()
    refused = {"type": "Denied", "status": "True", "lastUpdateTime": "2026-11-21T16:00:00Z"}
    document["status"] = {"conditions": [refused]}
    desk.held.documents = [document]
    desk.wall = 1795276800.0 + REFUSED_KEPT_S - 1
    assert desk.work() == pytest.approx(1)
    assert desk.api.written == []
    desk.wall += 1
    desk.work()
    [(method, path, body)] = desk.api.written
    assert (method, path) == ("DELETE", f"{PATH}/{document['metadata']['name']}")
    assert body["preconditions"]["uid"] == document["metadata"]["uid"]


def test_other_signers_requests_are_none_of_ours(desk: Desk) -> None:
    document = joining()
    document["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client"
    desk.held.documents = [document]
    desk.work()
    assert desk.api.written == []


@pytest.mark.parametrize("status", [0, 409, 500])
@pytest.mark.parametrize("approved", [False, True])
def test_a_failed_write_is_tried_again(desk: Desk, status: int, approved: bool) -> None:
    desk.held.documents = [joining()]
    if approved:
        desk.held.documents[0]["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    desk.api.refuse = status or 503
    assert desk.work() <= 1
    desk.api.refuse = 0
    desk.now += 1
    desk.work()
    assert desk.api.said("/status")[0]["status"]["certificate"]


def test_without_the_authority_nothing_is_approved(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "authority.pem").unlink()
    desk.held.documents = [joining()]
    desk.work()
    assert desk.api.written == []


def test_events_are_few_however_many_ask(desk: Desk) -> None:
    desk.held.documents = [joining() for _ in range(500)]
    desk.judge.verdict = RefusedError("UnknownMachine", "there is no machine")
    desk.work()
    assert len(desk.api.said("/approval")) == 500
    assert len(desk.api.said("/events")) < 200
