"""The queue of requests, and the answers that the API gets."""

from __future__ import annotations

import pytest

from contract.certificate_requests import RefusedError, Request
from contract.kubernetes.events import Events
from contract.object_names import NODE_CONTROLLER_LEASE
from services.metrics import ServiceMetrics
from services.node_controller.judge import WaitError
from services.node_controller.metrics import METRICS
from services.node_controller.requests import JOINS_AT_ONCE, PATH, REFUSED_KEPT_S, UNSIGNED, Requests
from services.node_controller.surplus_requests import KEPT
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


class Asked:
    def __init__(self) -> None:
        self.api, self.held, self.judge, self.now = FakeApi(), Held(), Judge(), 1000.0
        self.granted_: list[str] = []
        self.joined_: list[str] = []
        self.metrics = ServiceMetrics(METRICS)
        self.requests = Requests(
            self.api,
            self.held,  # type: ignore[arg-type]
            grants=self,
            events=Events(self.api, instance="lab-api-0", component=NODE_CONTROLLER_LEASE),
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


@pytest.fixture(name="asked")
def _asked() -> Asked:
    return Asked()


def test_a_granted_request_is_approved_once_and_signed_by_others(asked: Asked) -> None:
    asked.held.documents = [joining()]
    asked.work()
    asked.work()
    [approval] = asked.api.said("/approval")
    [condition] = approval["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("Approved", "True")
    assert len(asked.api.written) == 1
    assert asked.granted_ == [NODE]
    assert asked.joined_ == []
    assert 'joining="true"} 1' in asked.metrics.text()


def test_with_its_own_certificate_a_node_has_joined(asked: Asked) -> None:
    asked.held.documents = [renewing()]
    asked.work()
    assert asked.joined_ == [NODE]


def test_a_refused_one_is_denied_with_reason_and_event(asked: Asked) -> None:
    asked.held.documents = [joining()]
    asked.judge.verdict = RefusedError("UnknownMachine", "there is no machine")
    asked.work()
    asked.work()
    [approval], [event] = asked.api.said("/approval"), asked.api.said("/events")
    [condition] = approval["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("Denied", "UnknownMachine")
    assert condition["message"] == "asked by longhaul:join: there is no machine"
    assert (event["reason"], event["type"]) == ("NodeRequestDenied", "Warning")
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"]["kind"] == "CertificateSigningRequest"
    assert "UnknownMachine" in event["message"]
    assert asked.api.said("/status") == []


APPROVED = {"conditions": [{"type": "Approved", "status": "True"}]}


def test_what_was_approved_before_is_left_to_the_signer(asked: Asked) -> None:
    asked.held.documents = [{**joining(), "status": APPROVED}]
    asked.work()
    assert asked.api.written == asked.judge.asked == []


def test_it_is_told_when_nobody_signs_what_was_approved(asked: Asked) -> None:
    document = joining()
    asked.held.documents = [document]
    asked.judge.verdict = WaitError("its machine is in no list yet")
    asked.work()
    asked.judge.verdict = None
    asked.now += 50
    asked.work()
    document["status"] = APPROVED
    asked.now += 50
    asked.work()
    assert asked.api.said("/events") == []
    asked.now += 11
    asked.work()
    asked.work()
    [event] = asked.api.said("/events")
    assert (event["reason"], event["message"]) == ("NodeRequestWaiting", UNSIGNED)
    document["status"] = {**APPROVED, "certificate": "x"}
    assert asked.work() > 1


def test_who_waits_is_told_why_once_and_not_at_once(asked: Asked) -> None:
    asked.held.documents = [joining()]
    asked.judge.verdict = WaitError("use1: DescribeInstances: 503")
    assert asked.work() <= 1
    assert asked.api.written == []
    asked.now += 61
    asked.work()
    asked.work()
    [event] = asked.api.said("/events")
    assert (event["reason"], event["message"]) == ("NodeRequestWaiting", "use1: DescribeInstances: 503")


def test_joins_are_smoothed_renewals_are_not(asked: Asked) -> None:
    many = 40
    asked.held.documents = [joining(f"i-{index:017}") for index in range(many)]
    due = asked.work()
    assert len(asked.granted_) == JOINS_AT_ONCE
    assert 0 < due <= 0.1
    asked.held.documents.append(renewing())
    asked.work()
    assert asked.joined_ == [NODE]
    for _ in range(3):
        asked.now += 1
        asked.work()
    assert len(set(asked.granted_) - {NODE}) == many


def test_the_judge_is_asked_of_those_alone_who_can_be_let_in(asked: Asked) -> None:
    asked.held.documents = [joining(f"i-{index:017}") for index in range(40)]
    for _ in range(5):
        asked.work()
    assert len(asked.judge.asked) == JOINS_AT_ONCE


def test_nodes_that_are_in_do_not_stand_behind_those_who_join(asked: Asked) -> None:
    asked.held.documents = [joining(), renewing()]
    asked.held.documents[0]["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    asked.work()
    assert asked.judge.asked == [f"system:node:{NODE}", "longhaul:join"]


def test_one_request_does_not_end_everybody_s(asked: Asked, caplog: pytest.LogCaptureFixture) -> None:
    bad = joining()
    del bad["spec"]["request"]
    asked.held.documents = [bad, joining()]
    asked.work()
    assert len(asked.granted_) == 1
    assert f"request {bad['metadata']['name']} cannot be worked on" in caplog.text


def test_the_oldest_of_too_many_requests_of_a_node_are_deleted(asked: Asked) -> None:
    """No quota counts objects of the whole cluster, and the API keeps a request for hours."""
    asked.held.documents = [renewing() for _ in range(KEPT + 2)]
    for index, document in enumerate(asked.held.documents):
        document["metadata"]["name"] = f"csr-{index}"
        document["metadata"]["creationTimestamp"] = f"2026-11-29T10:00:{59 - index:02}Z"
    others = [joining(f"i-{index:017}") for index in range(KEPT + 2)]
    asked.held.documents += others
    asked.work()
    deleted = [path for method, path, _ in asked.api.written if method == "DELETE"]
    assert sorted(deleted) == [f"{PATH}/csr-{KEPT}", f"{PATH}/csr-{KEPT + 1}"]
    assert asked.joined_ == [NODE] * KEPT
    assert "longhaul_node_controller_requests_surplus_total 2\n" in asked.metrics.text()


def test_a_refused_request_is_deleted_after_a_while(asked: Asked) -> None:
    document = joining()
    refused = {"type": "Denied", "status": "True", "lastUpdateTime": "2026-11-21T16:00:00Z"}
    document["status"] = {"conditions": [refused]}
    asked.held.documents = [document]
    asked.wall = 1795276800.0 + REFUSED_KEPT_S - 1
    assert asked.work() == pytest.approx(1)
    assert asked.api.written == []
    asked.wall += 1
    asked.work()
    [(method, path, body)] = asked.api.written
    assert (method, path) == ("DELETE", f"{PATH}/{document['metadata']['name']}")
    assert body["preconditions"]["uid"] == document["metadata"]["uid"]


def test_other_signers_requests_are_none_of_ours(asked: Asked) -> None:
    document = joining()
    document["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client"
    asked.held.documents = [document]
    asked.work()
    assert asked.api.written == []


@pytest.mark.parametrize("status", [503, 409, 500])
def test_a_failed_write_is_tried_again(asked: Asked, status: int) -> None:
    asked.held.documents = [joining()]
    asked.api.refuse = status
    assert asked.work() <= 1
    asked.api.refuse = 0
    asked.now += 1
    asked.work()
    [approval] = asked.api.said("/approval")
    assert approval["status"]["conditions"][0]["type"] == "Approved"


def test_events_are_few_however_many_ask(asked: Asked) -> None:
    asked.held.documents = [joining() for _ in range(500)]
    asked.judge.verdict = RefusedError("UnknownMachine", "there is no machine")
    asked.work()
    assert len(asked.api.said("/approval")) == 500
    assert len(asked.api.said("/events")) < 200
