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


class Signing:
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


@pytest.fixture(name="signing")
def _signing(tmp_path: Path) -> Signing:
    return Signing(tmp_path)


def test_a_granted_request_is_approved_and_then_signed_once(signing: Signing) -> None:
    signing.held.documents = [joining()]
    signing.work()
    signing.work()
    [approval], [status] = signing.api.said("/approval"), signing.api.said("/status")
    [condition] = approval["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Approved", "True")
    assert status["status"]["certificate"]
    assert signing.granted_ == [NODE]
    assert signing.joined_ == []
    assert 'requests_granted_total{joining="true"' in signing.metrics.text()


def test_with_its_own_certificate_a_node_has_joined(signing: Signing) -> None:
    signing.held.documents = [renewing()]
    signing.work()
    assert signing.joined_ == [NODE]


def test_a_refused_one_is_denied_with_reason_and_event(signing: Signing) -> None:
    signing.held.documents = [joining()]
    signing.judge.verdict = RefusedError("UnknownMachine", "there is no machine")
    signing.work()
    signing.work()
    [approval], [event] = signing.api.said("/approval"), signing.api.said("/events")
    [condition] = approval["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Denied", "UnknownMachine")
    assert condition["message"] == "asked by longhaul:join: there is no machine"
    assert (event["reason"], event["type"]) == ("NodeRequestDenied", "Warning")
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"]["kind"] == "CertificateSigningRequest"
    assert "UnknownMachine" in event["message"]
    assert signing.api.said("/status") == []


def test_what_somebody_approved_by_hand_is_judged_all_the_same(signing: Signing) -> None:
    document = joining()
    document["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    signing.held.documents = [document]
    signing.judge.verdict = RefusedError("UnknownMachine", "there is no machine")
    signing.work()
    [status] = signing.api.said("/status")
    assert [each["type"] for each in status["status"]["conditions"]] == ["Approved", "Failed"]
    assert "certificate" not in status["status"]


def test_one_that_was_approved_before_a_crash_is_signed(signing: Signing) -> None:
    document = joining()
    document["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    signing.held.documents = [document]
    signing.work()
    assert signing.api.said("/approval") == []
    assert signing.api.said("/status")[0]["status"]["certificate"]


def test_who_waits_is_told_why_once_and_not_at_once(signing: Signing) -> None:
    signing.held.documents = [joining()]
    signing.judge.verdict = WaitError("use1: DescribeInstances: 503")
    assert signing.work() <= 1
    assert signing.api.written == []
    signing.now += 61
    signing.work()
    signing.work()
    [event] = signing.api.said("/events")
    assert (event["reason"], event["message"]) == ("NodeRequestWaiting", "use1: DescribeInstances: 503")


def test_joins_are_smoothed_renewals_are_not(signing: Signing) -> None:
    many = 40
    signing.held.documents = [joining(f"i-{index:017}") for index in range(many)]
    due = signing.work()
    assert len(signing.granted_) == JOINS_AT_ONCE
    assert 0 < due <= 0.1
    signing.held.documents.append(renewing())
    signing.work()
    assert signing.joined_ == [NODE]
    for _ in range(3):
        signing.now += 1
        signing.work()
    assert len(set(signing.granted_) - {NODE}) == many


def test_the_judge_is_asked_of_those_alone_who_can_be_let_in(signing: Signing) -> None:
    signing.held.documents = [joining(f"i-{index:017}") for index in range(40)]
    for _ in range(5):
        signing.work()
    assert len(signing.judge.asked) == JOINS_AT_ONCE


def test_nodes_that_are_in_do_not_stand_behind_those_who_join(signing: Signing) -> None:
    signing.held.documents = [joining(), renewing()]
    signing.held.documents[0]["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    signing.work()
    assert signing.judge.asked == [f"system:node:{NODE}", "longhaul:join"]


def test_one_request_does_not_end_everybody_s(signing: Signing, caplog: pytest.LogCaptureFixture) -> None:
    bad = joining()
    del bad["spec"]["request"]
    signing.held.documents = [bad, joining()]
    signing.work()
    assert len(signing.granted_) == 1
    assert f"request {bad['metadata']['name']} cannot be worked on" in caplog.text


def test_a_refused_request_is_deleted_after_a_while(signing: Signing) -> None:
    document = joining()
    refused = {"type": "Denied", "status": "True", "lastUpdateTime": "2026-11-21T16:00:00Z"}
    document["status"] = {"conditions": [refused]}
    signing.held.documents = [document]
    signing.wall = 1795276800.0 + REFUSED_KEPT_S - 1
    assert signing.work() == pytest.approx(1)
    assert signing.api.written == []
    signing.wall += 1
    signing.work()
    [(method, path, body)] = signing.api.written
    assert (method, path) == ("DELETE", f"{PATH}/{document['metadata']['name']}")
    assert body["preconditions"]["uid"] == document["metadata"]["uid"]


def test_other_signers_requests_are_none_of_ours(signing: Signing) -> None:
    document = joining()
    document["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client"
    signing.held.documents = [document]
    signing.work()
    assert signing.api.written == []


@pytest.mark.parametrize("status", [0, 409, 500])
@pytest.mark.parametrize("approved", [False, True])
def test_a_failed_write_is_tried_again(signing: Signing, status: int, approved: bool) -> None:
    signing.held.documents = [joining()]
    if approved:
        signing.held.documents[0]["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    signing.api.refuse = status or 503
    assert signing.work() <= 1
    signing.api.refuse = 0
    signing.now += 1
    signing.work()
    assert signing.api.said("/status")[0]["status"]["certificate"]


def test_without_the_authority_nothing_is_approved(signing: Signing, tmp_path: Path) -> None:
    (tmp_path / "authority.pem").unlink()
    signing.held.documents = [joining()]
    signing.work()
    assert signing.api.written == []


def test_events_are_few_however_many_ask(signing: Signing) -> None:
    signing.held.documents = [joining() for _ in range(500)]
    signing.judge.verdict = RefusedError("UnknownMachine", "there is no machine")
    signing.work()
    assert len(signing.api.said("/approval")) == 500
    assert len(signing.api.said("/events")) < 200
