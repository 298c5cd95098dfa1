"""A node that its cloud takes back: what its metadata service says, and what the node tells the cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from gpu.own_node import OwnNode
from machine.metadata import NotYetError
from node import interruption_watch
from node.interruption_notices import AwsNotices, AzureNotices, notices
from node.interruption_watch import COMPONENT, POLL_S, RETRY_S, Watcher

from contract.annotations import MIRROR
from contract.conditions import INTERRUPTION
from contract.labels import INTERRUPTED
from tests.images.gpu.told import NAME, Server
from tests.images.node.test_place import FakeMetadata
from tests.images.notices_told import Told

ACTION = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"
LIFE = "/latest/meta-data/instance-life-cycle"
EVENTS = "/metadata/scheduledevents"
INSTANCE = "/metadata/instance"
PREEMPT = {
    "EventId": "f020ba2e-3bc0-4c40-a10b-86575a9eabd5",
    "EventType": "Preempt",
    "ResourceType": "VirtualMachine",
    "Resources": ["pool_3"],
    "EventStatus": "Scheduled",
    "NotBefore": "Mon, 19 Sep 2016 18:29:47 GMT",
}

STAYING = {"metadata": {"namespace": "kube-system", "name": "log"}, "spec": {"tolerations": [{"operator": "Exists"}]}}


@pytest.fixture(name="metadata")
def _metadata() -> Iterator[FakeMetadata]:
    with FakeMetadata() as metadata:
        yield metadata


@pytest.fixture(name="aws")
def _aws(metadata: FakeMetadata) -> AwsNotices:
    metadata.documents[LIFE] = "spot"
    return AwsNotices(metadata.url)


def azure(metadata: FakeMetadata, *events: dict[str, Any], priority: str = "Spot") -> AzureNotices:
    metadata.documents[INSTANCE] = json.dumps({"compute": {"name": "pool_3", "priority": priority}})
    metadata.documents[EVENTS] = json.dumps({"DocumentIncarnation": 1, "Events": list(events)})
    return AzureNotices(metadata.url)


def test_ec2_says_when_it_ends_a_spot_instance(metadata: FakeMetadata, aws: AwsNotices) -> None:
    assert aws.spot()
    assert (aws.interruption(), aws.recommendation()) == ("", "")
    metadata.documents[REBALANCE] = json.dumps({"noticeTime": "2026-11-23T06:00:00Z"})
    assert "since 2026-11-23T06:00:00Z" in aws.recommendation()
    metadata.documents[ACTION] = json.dumps({"action": "terminate", "time": "2026-11-23T06:12:00Z"})
    assert aws.interruption() == "EC2 will terminate this spot instance at 2026-11-23T06:12:00Z"
    metadata.documents[LIFE] = "on-demand"
    assert not aws.spot()


def test_azure_preempts_a_machine_of_a_scale_set(metadata: FakeMetadata) -> None:
    """Events of its neighbours, and of other kinds, are not its own."""
    told = azure(metadata, {**PREEMPT, "EventType": "Freeze"}, {**PREEMPT, "Resources": ["pool_4"]})
    assert told.spot()
    assert told.interruption() == ""
    told = azure(metadata, PREEMPT)
    assert told.spot()
    assert told.interruption() == "Azure preempts this spot machine at 2016-09-19T18:29:47Z"
    told = azure(metadata, {**PREEMPT, "EventStatus": "Started", "NotBefore": ""})
    assert told.spot()
    assert told.interruption().startswith("Azure preempts this spot machine now, ")
    assert not azure(metadata, priority="Regular").spot()


def test_azure_says_when_it_deletes_a_machine_and_takes_its_approval(metadata: FakeMetadata) -> None:
    """Of its own event alone: an approval is for all machines that an event names."""
    deletion = {**PREEMPT, "EventType": "Terminate"}
    others = [
        {**deletion, "EventId": "2", "Resources": ["pool_4"]},
        {**deletion, "EventId": "3", "Resources": ["pool_3", "pool_4"]},
    ]
    azure(metadata, *others, deletion, priority="Regular")
    told = AzureNotices(metadata.url, deletion_notice=True)
    assert told.spot(), "its set asks for notices"
    assert told.interruption() == "Azure deletes this machine at 2016-09-19T18:29:47Z"
    assert told.awaits_approval()
    told.approve()
    [approval] = [asked for asked in metadata.asked if asked.method == "POST"]
    assert json.loads(approval.body) == {"StartRequests": [{"EventId": PREEMPT["EventId"]}]}
    for event in (PREEMPT, {**deletion, "EventStatus": "Started"}, others[0]):
        told = azure(metadata, event)
        assert told.spot()
        assert not told.awaits_approval()


@pytest.mark.parametrize("answer", ["", "{", "[]"])
def test_what_is_no_answer_is_asked_again(metadata: FakeMetadata, aws: AwsNotices, answer: str) -> None:
    metadata.documents[ACTION] = answer
    with pytest.raises(NotYetError):
        aws.interruption()


def test_hosts_are_taken_back_by_nobody() -> None:
    assert notices("onprem") is None
    assert isinstance(notices("aws"), AwsNotices)
    assert isinstance(notices("azure"), AzureNotices)


def test_the_node_says_once_that_it_ends() -> None:
    server, told = Server(), Told()
    watcher = Watcher(OwnNode(server, NAME, component=COMPONENT), told)
    assert not watcher.step()
    assert server.written == []
    told.ends = "EC2 will terminate this spot instance at 2026-11-23T06:12:00Z"
    assert watcher.step()
    assert watcher.step()
    [written] = server.said("/status")
    assert written["metadata"]["labels"] == {INTERRUPTED: "true"}
    [condition] = written["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["message"]) == (INTERRUPTION, "True", told.ends)
    assert "taints" not in str(server.written), "a node may not change its own"


def test_a_machine_is_ready_to_end_when_its_pods_have_ended() -> None:
    server, told = Server(), Told()
    watcher = Watcher(OwnNode(server, NAME, component=COMPONENT), told)
    told.ends, told.deletes = "Azure deletes this machine at 2026-11-23T06:12:00Z", True
    job: dict[str, Any] = {"metadata": {"namespace": "default", "name": "job"}, "spec": {}}
    server.objects["/api/v1/pods"] = {"items": [STAYING, job]}
    assert not watcher.step()
    assert server.node["metadata"]["labels"][INTERRUPTED] == "true"
    assert told.approved == 0
    server.objects["/api/v1/pods"] = {"items": [STAYING, {**job, "status": {"phase": "Succeeded"}}]}
    assert watcher.step()
    assert told.approved == 1


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"key": "longhaul.dev/interrupted"}, True),
        ({"key": "other"}, False),
        ({"effect": "NoSchedule"}, False),
        ({"tolerationSeconds": 60}, False),
        ({"operator": "Equal"}, False),
    ],
)
def test_pods_that_tolerate_the_taint_stay(changes: dict[str, Any], expected: bool) -> None:
    tolerations = [{"operator": "Exists", **changes}]
    assert interruption_watch.stays({"metadata": {}, "spec": {"tolerations": tolerations}}) is expected
    assert interruption_watch.stays({"metadata": {"annotations": {MIRROR: "x"}}, "spec": {}})


def test_a_recommendation_is_for_people_alone() -> None:
    server, told = Server(), Told()
    watcher = Watcher(OwnNode(server, NAME, component=COMPONENT), told)
    told.recommended = "EC2 says since 2026-11-23T06:00:00Z that this instance may be interrupted soon"
    assert not watcher.step()
    assert not watcher.step()
    assert server.events == [("Normal", "RebalanceRecommended")]
    assert server.writes == 0


def test_it_tries_again_sooner_while_the_cluster_does_not_know() -> None:
    server, told, pauses = Server(), Told(), []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        told.ends = "at once"
        server.refuse = 500 if len(pauses) < 4 else 0

    told.failures = 1
    interruption_watch.run(Watcher(OwnNode(server, NAME, component=COMPONENT), told), sleep=sleep)
    assert pauses == [POLL_S, RETRY_S, RETRY_S, RETRY_S]
    assert server.node["metadata"]["labels"][INTERRUPTED] == "true"


def test_it_waits_until_the_cloud_says_what_the_machine_is() -> None:
    told, pauses = Told(), []
    told.failures = 2
    assert interruption_watch.awaited(told, sleep=pauses.append)
    assert pauses == [POLL_S] * 2
