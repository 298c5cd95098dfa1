"""Scheduled events: notices to machines in their metadata. A machine may approve an event before its time.

learn.microsoft.com/azure/virtual-machines/linux/scheduled-events and
learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from email.utils import formatdate
from typing import Any, Literal

from pydantic import Field, ValidationError

from lab.cloud.azure.schema.base import BodyPart
from lab.cloud.azure.schema.scale_set_instance import INSTANCE, group_of
from lab.cloud.delays import Delays
from lab.cloud.store import DocumentStore, ResourceDocument

KIND, SERVICE = "scheduled-event", "scheduled-events"
"""Kinds of records: an event by its id, and the service of a set by the set's key."""
VERSIONS = ("2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
SINCE = {
    "Preempt": "2017-11-01",
    "Terminate": "2019-01-01",
    "Description": "2019-04-01",
    "EventSource": "2019-08-01",
    "DurationInSeconds": "2020-07-01",
}
"""First API version with each type and property of events ("Version and region availability")."""
PREEMPT_S = 30.0
"""Shortest notice of an eviction, in seconds ("Event scheduling")."""
FIRST_ANSWER_S, FIRST_EVENT_S = 120.0, 300.0
"""Longest time until the first answer, and until the first event, in seconds after a set's first request ("Enabling and
disabling Scheduled Events")."""

EventType = Literal["Preempt", "Terminate"]
DESCRIPTIONS: Mapping[EventType, str] = {
    "Preempt": "The Spot Virtual Machine is being deleted.",
    "Terminate": "The virtual machine is scheduled to be deleted.",
}
SOURCES: Mapping[EventType, str] = {"Preempt": "Platform", "Terminate": "User"}


class StartRequest(BodyPart):
    """Approval of one event."""

    event_id: str = Field(alias="EventId")


class Approvals(BodyPart):
    """Body of a POST."""

    start_requests: list[StartRequest] = Field(alias="StartRequests", min_length=1)


class ScheduledEvents:
    """The events of all machines. The lab's delay factor does not shorten the notices: a notice is a promise to the
    machine, not a delay of the cloud."""

    def __init__(self, *, store: DocumentStore, delays: Delays) -> None:
        self._store, self._delays = store, delays
        self._changed = asyncio.Event()

    def schedule(self, machine: ResourceDocument, type: EventType, notice_s: float) -> str:
        """Record an event of one machine that begins after ``notice_s`` seconds, and return the event's id. If the
        machine has an event already, return the id of that event."""
        for known, event in self._events(machine).items():
            if event["machine"] == machine.key:
                return known
        event_id = str(uuid.uuid4())
        event = {"scope": _scope(machine), "machine": machine.key, "name": machine.body["name"], "type": type}
        event |= {"not_before": self._delays.now() + notice_s, "approved": False, "started": False}
        self._write(event_id, event)
        return event_id

    def pending(self) -> dict[str, dict[str, Any]]:
        """Return all events by id."""
        return dict(self._store.records(KIND))

    async def started(self, event_id: str) -> None:
        """Wait until an event begins: at its time, or when all events of its type in its set are approved."""
        while (event := self._store.record(KIND, event_id)) is not None and not self._is_due(event):
            time = asyncio.ensure_future(self._delays.until(event["not_before"]))
            approved = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait((time, approved), return_when=asyncio.FIRST_COMPLETED)
            finally:
                time.cancel()
                approved.cancel()
        if event is not None:
            self._write(event_id, {**event, "started": True})

    def finish(self, event_id: str) -> None:
        """Forget an event that is over."""
        event = self._store.record(KIND, event_id)
        if event is not None:
            self._write(event_id, None, scope=event["scope"])

    def approve(self, machine: ResourceDocument, body: Any) -> None:
        """Take the approvals of a machine, which may be for another machine of its set.

        Raises:
            ValueError: the body is malformed, or there is no such event.
        """
        try:
            approvals = Approvals.model_validate(body)
        except ValidationError as problem:
            raise ValueError(str(problem.errors(include_url=False, include_input=False))) from problem
        known = self._events(machine)
        for start_request in approvals.start_requests:
            if start_request.event_id not in known:
                raise ValueError(f"there is no event {start_request.event_id}")
            self._write(start_request.event_id, {**known[start_request.event_id], "approved": True})

    async def document(self, machine: ResourceDocument, version: str) -> dict[str, Any]:
        """Return the document of a machine. The first request of a set's machines enables the service, and takes up to
        two minutes (times the lab's delay factor).

        Raises:
            ValueError: there is no such API version.
        """
        if version not in VERSIONS:
            raise ValueError(f"Bad request. api-version is invalid or was not specified; newest: {', '.join(VERSIONS)}")
        service = self._service(_scope(machine))
        await self._delays.until(self._delays.after(FIRST_ANSWER_S, since=service["enabled"]))
        service = self._service(_scope(machine))
        enabled = self._delays.after(FIRST_EVENT_S, since=service["enabled"]) <= self._delays.now()
        events = self._events(machine).items() if enabled else ()
        shown = [_shown(event_id, event, version) for event_id, event in events if version >= SINCE[event["type"]]]
        return {"DocumentIncarnation": service["incarnation"], "Events": shown}

    def _is_due(self, event: Mapping[str, Any]) -> bool:
        """Return whether an event begins. An approved event waits for others of its set and type that are not approved,
        until its own time (terminate notification, "Tips and best practices")."""
        if event["started"] or event["not_before"] <= self._delays.now():
            return True
        others = [other for other in self.pending().values() if _group(other) == _group(event) and not other["started"]]
        return all(other["approved"] for other in others)

    def _events(self, machine: ResourceDocument) -> dict[str, dict[str, Any]]:
        return {key: event for key, event in self.pending().items() if event["scope"] == _scope(machine)}

    def _service(self, scope: str) -> dict[str, Any]:
        record = self._store.record(SERVICE, scope)
        if record is None:
            record = {"enabled": self._delays.now(), "incarnation": 1}
            self._store.set_record(SERVICE, scope, record)
        return dict(record)

    def _write(self, event_id: str, event: dict[str, Any] | None, *, scope: str = "") -> None:
        scope = event["scope"] if event else scope
        with self._store.transaction():
            self._store.set_record(KIND, event_id, event)
            service = self._store.record(SERVICE, scope)
            if service is not None:
                self._store.set_record(SERVICE, scope, {**service, "incarnation": service["incarnation"] + 1})
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _scope(machine: ResourceDocument) -> str:
    """Return the key of the machines that see an event: the key of a scale set, or of a single machine."""
    return group_of(machine).lower() if machine.type == INSTANCE else machine.key


def _group(event: Mapping[str, Any]) -> tuple[str, str]:
    return event["scope"], event["type"]


def _shown(event_id: str, event: Mapping[str, Any], version: str) -> dict[str, Any]:
    started, type_ = event["started"], event["type"]
    whole = {
        "EventId": event_id,
        "EventType": type_,
        "ResourceType": "VirtualMachine",
        "Resources": [event["name"]],
        "EventStatus": "Started" if started else "Scheduled",
        "NotBefore": "" if started else formatdate(event["not_before"], usegmt=True),
        "Description": DESCRIPTIONS[type_],
        "EventSource": SOURCES[type_],
        "DurationInSeconds": -1,
    }
    return {key: value for key, value in whole.items() if version >= SINCE.get(key, "")}
