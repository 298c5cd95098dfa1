"""Scheduled events in a machine's metadata: evictions of spot machines, and deletions that are announced."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from lab.cloud.azure.scheduled_events import FIRST_ANSWER_S, FIRST_EVENT_S, PREEMPT_S, VERSIONS
from tests.lab.cloud import sets
from tests.lab.cloud.aws.site import until
from tests.lab.cloud.conftest import Live, SlowLive, Source
from tests.lab.cloud.test_metadata import URL, ask

NOTICE = {"terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT10M"}}


def machine(live: Live, instance: str = "0") -> str:
    """Return the own address of a set's machine."""
    (found,) = (
        one["properties"]["ipConfigurations"]
        for one in sets.listed(live, "networkInterfaces")
        if f"/virtualMachines/{instance}/" in one["id"]
    )
    return str(next(one["properties"]["privateIPAddress"] for one in found if one["properties"]["primary"]))


def told(live: Live, instance: str = "0", version: str = VERSIONS[-1]) -> list[dict[str, Any]]:
    """Return a machine's events as it reads them; its service is enabled."""
    answer = ask("/scheduledevents", source=machine(live, instance), **{"api-version": version})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["Events"]
    return found


def approve(live: Live, *events: str, instance: str = "0", body: Any = None) -> int:
    session = requests.Session()
    session.mount("http://", Source(machine(live, instance)))
    given = {"StartRequests": [{"EventId": one} for one in events]} if body is None else body
    query, headers = {"api-version": VERSIONS[-1]}, {"Metadata": "true"}
    return session.post(f"{URL}/scheduledevents", params=query, headers=headers, json=given, timeout=10).status_code


def evict(live: Live, instance: str = "0") -> None:
    assert live.arm("POST", f"{sets.SET}/virtualMachines/{instance}/simulateEviction").status_code == 204


def announced(capacity: int) -> dict[str, Any]:
    """Return a set whose machines are told before they are deleted."""
    body = sets.body(capacity)
    body["properties"]["virtualMachineProfile"]["scheduledEventsProfile"] = NOTICE
    return body


@pytest.fixture
def two(live: Live) -> Live:
    """A cloud with two machines that are told before they are deleted."""
    sets.build(live, 0)
    live.put(sets.SET, announced(2))
    assert told(live) == []
    return live


def test_a_machine_knows_whether_it_may_be_taken_back(live: Live) -> None:
    sets.build(live, 1, spot="Delete")
    compute = ask("/instance", source=machine(live)).json()["compute"]
    assert (compute["priority"], compute["evictionPolicy"]) == ("Spot", "Delete")


def test_an_eviction_is_announced_to_the_whole_set_and_can_be_approved(live: Live) -> None:
    sets.build(live, 2, spot="Delete")
    assert told(live) == []
    evict(live)
    evict(live)
    (event,) = told(live)
    assert event == told(live, "1")[0]
    assert (event["EventType"], event["Resources"], event["EventStatus"]) == ("Preempt", ["lab-gpu_0"], "Scheduled")
    assert event["NotBefore"].endswith(" GMT")
    assert event["EventSource"] == "Platform"
    assert sets.ids(live) == ["0", "1"]
    assert approve(live, event["EventId"], instance="1") == 200
    until(lambda: (sets.ids(live), told(live, "1")) == (["1"], []))


@pytest.mark.parametrize(("policy", "left"), [("Delete", 0), ("Deallocate", 1)])
def test_an_eviction_begins_after_half_a_minute(slow: SlowLive, policy: str, left: int) -> None:
    sets.build(slow, 1, spot=policy)
    evict(slow)
    slow.turn(PREEMPT_S - 1)
    assert slow.hypervisor.world.machines[0].running
    slow.turn(1)
    until(lambda: [one.deallocated for one in slow.hypervisor.world.machines] == [True] * left)
    until(lambda: sets.capacity(slow) == left)


def test_the_service_begins_with_the_first_request(slow: SlowLive) -> None:
    sets.build(slow, 1, spot="Deallocate")
    with pytest.raises(requests.Timeout):
        requests_in_time(slow)
    slow.turn(FIRST_ANSWER_S)
    assert told(slow) == []
    slow.turn(FIRST_EVENT_S - FIRST_ANSWER_S - 1)
    evict(slow)
    assert told(slow) == []
    slow.turn(1)
    assert [event["EventType"] for event in told(slow)] == ["Preempt"]


def requests_in_time(live: Live) -> None:
    session = requests.Session()
    session.mount("http://", Source(machine(live)))
    query, headers = {"api-version": VERSIONS[-1]}, {"Metadata": "true"}
    session.get(f"{URL}/scheduledevents", params=query, headers=headers, timeout=0.2)


def test_a_deletion_waits_for_every_approval(two: Live) -> None:
    """One of two that are deleted is not deleted before the other is approved, too."""
    response = two.arm("POST", f"{sets.SET}/delete", {"instanceIds": ["*"]})
    assert sets.capacity(two) == 0
    events = {event["Resources"][0]: event for event in told(two)}
    assert {event["EventType"] for event in events.values()} == {"Terminate"}
    assert len(two.hypervisor.world.machines) == 2
    assert approve(two, events["lab-gpu_0"]["EventId"]) == 200
    assert sets.ids(two) == ["0", "1"]
    assert approve(two, events["lab-gpu_1"]["EventId"], instance="1") == 200
    assert two.wait(response)["status"] == "Succeeded"
    assert two.hypervisor.world.machines == ()


def test_a_deletion_waits_no_longer_than_its_time(slow: SlowLive) -> None:
    sets.build(slow, 0)
    slow.put(sets.SET, announced(1))
    response = slow.arm("DELETE", f"{sets.SET}/virtualMachines/0")
    slow.turn(599.0)
    assert len(slow.hypervisor.world.machines) == 1
    slow.wait(response)
    assert slow.hypervisor.world.machines == ()


@pytest.mark.parametrize("body", [{}, {"StartRequests": []}, {"StartRequests": [{"EventId": "none"}]}, []])
def test_malformed_approvals_are_refused(two: Live, body: Any) -> None:
    assert approve(two, body=body) == 400


@pytest.mark.parametrize(("version", "known"), [("2017-08-01", set()), ("2019-01-01", {"Terminate"})])
def test_older_versions_know_less(two: Live, version: str, known: set[str]) -> None:
    two.arm("POST", f"{sets.SET}/delete", {"instanceIds": ["0"]})
    events = told(two, version=version)
    assert {event["EventType"] for event in events} == known
    assert not any("Description" in event for event in events)


def test_an_unknown_version_is_refused(two: Live) -> None:
    answer = ask("/scheduledevents", source=machine(two), **{"api-version": "2021-02-01"})
    assert answer.status_code == 400


@pytest.mark.parametrize(("spot", "timeout"), [("Delete", "PT5M"), ("", "PT4M"), ("", "PT16M")])
def test_what_azure_refuses(live: Live, spot: str, timeout: str) -> None:
    sets.build(live, 0)
    body = sets.body(0, spot=spot)
    notice = {"enable": True, "notBeforeTimeout": timeout}
    body["properties"]["virtualMachineProfile"]["scheduledEventsProfile"] = {"terminateNotificationProfile": notice}
    other = f"{sets.SET}-other"
    assert live.arm("PUT", other, body).json()["error"]["code"] == "InvalidParameter"
