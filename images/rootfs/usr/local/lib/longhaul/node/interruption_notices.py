"""Notices in the cloud's metadata service that the cloud takes this machine back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from machine.metadata import AZURE_VERSION, METADATA, TOKEN_LIFE_S, NotThereError, NotYetError, ask

from contract.json_object import json_object

EVENTS_VERSION = "2020-07-01"
"""API version of Azure's scheduled events (learn.microsoft.com, "Azure Metadata Service: Scheduled Events for Linux
VMs", version and region availability)."""

ENDS = {"Preempt": "preempts this spot machine", "Terminate": "deletes this machine"}
"""Types of scheduled events after which the machine no longer exists."""


class Notices(Protocol):
    """Notices to one machine. Every method raises ``NotYetError`` if the metadata service gives no answer."""

    def spot(self) -> bool:
        """Return whether the cloud may take the machine back, and gives notice of that."""

    def interruption(self) -> str:
        """Return when and why the machine ends, as a sentence; empty if there is no such notice."""

    def recommendation(self) -> str:
        """Return the cloud's recommendation to replace the machine, which may end soon, as a sentence; empty without
        one."""

    def awaits_approval(self) -> bool:
        """Return whether the machine may declare, before the time of its interruption, that it is ready to end."""

    def approve(self) -> None:
        """Tell the cloud that the machine is ready to end."""


class AwsNotices:
    """Notices to a spot instance of EC2 (docs.aws.amazon.com, EC2 user guide, "Spot Instance interruption notices" and
    "EC2 instance rebalance recommendations"): two minutes before its end, as a rule."""

    def __init__(self, metadata: str = METADATA) -> None:
        self._metadata = metadata

    def spot(self) -> bool:
        """Return whether this machine is a spot instance."""
        return self._tell("instance-life-cycle").strip() == "spot"

    def interruption(self) -> str:
        """Return EC2's action on the instance and its time, as a sentence; empty without a notice."""
        notice = self._document("spot/instance-action")
        return f"EC2 will {notice.get('action')} this spot instance at {notice.get('time')}" if notice else ""

    def recommendation(self) -> str:
        """Return the time since which EC2 reports a higher risk of an interruption, as a sentence; empty without a
        notice."""
        notice = self._document("events/recommendations/rebalance")
        return f"EC2 says since {notice.get('noticeTime')} that this instance may be interrupted soon" if notice else ""

    def awaits_approval(self) -> bool:
        """Return False: EC2 accepts no approval."""
        return False

    def approve(self) -> None:
        """Do nothing."""

    def _document(self, path: str) -> dict[str, Any]:
        try:
            return _mapping(self._tell(path))
        except NotThereError:
            return {}

    def _tell(self, path: str) -> str:
        life = {"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_LIFE_S)}
        token = ask(f"{self._metadata}/latest/api/token", headers=life, method="PUT")
        return ask(f"{self._metadata}/latest/meta-data/{path}", headers={"X-aws-ec2-metadata-token": token})


class AzureNotices:
    """Notices to a machine of a scale set: scheduled events (learn.microsoft.com, "Azure Metadata Service: Scheduled
    Events for Linux VMs"). An event ``Preempt`` comes at least 30 seconds before the end of a spot machine. An event
    ``Terminate`` comes at least five minutes before the deletion of a machine whose scale set requests such notices. A
    machine may also get the events of other machines of its scale set."""

    def __init__(self, metadata: str = METADATA, *, deletion_notice: bool = False) -> None:
        """``deletion_notice`` is true if the machine's scale set requests notices of deletions."""
        self._metadata, self._deletion_notice = metadata, deletion_notice
        self._name = ""

    def spot(self) -> bool:
        """Return whether the machine is a spot machine, or its scale set requests notices. Other machines never read
        events, because Azure delays restarts of machines that have once requested events."""
        document = self._document("instance", AZURE_VERSION).get("compute")
        compute = document if isinstance(document, dict) else {}
        self._name = str(compute.get("name") or "")
        return self._deletion_notice or compute.get("priority") == "Spot"

    def interruption(self) -> str:
        """Return when the machine is preempted or deleted, as a sentence; empty without an event."""
        for event in self._events():
            return f"Azure {ENDS[event['EventType']]} {_not_before(str(event.get('NotBefore') or ''))}"
        return ""

    def recommendation(self) -> str:
        """Return an empty text: Azure makes no recommendations."""
        return ""

    def awaits_approval(self) -> bool:
        """Return whether the machine is to be deleted, which takes at least five minutes without the machine's
        approval. A preempted machine approves nothing, because it has only half a minute."""
        return any(map(_is_open, self._events()))

    def approve(self) -> None:
        """Approve the deletion of this machine alone."""
        requests = [{"EventId": event["EventId"]} for event in self._events() if _is_open(event)]
        if requests:
            ask(
                f"{self._metadata}/metadata/scheduledevents?api-version={EVENTS_VERSION}",
                headers={"Metadata": "true", "Content-Type": "application/json"},
                method="POST",
                body=json.dumps({"StartRequests": requests}),
            )

    def _events(self) -> list[dict[str, Any]]:
        """Return the events that end this machine."""
        events = self._document("scheduledevents", EVENTS_VERSION).get("Events")
        valid = [event for event in events if _is_event(event)] if isinstance(events, list) else []
        return [event for event in valid if event["EventType"] in ENDS and self._name in event["Resources"]]

    def _document(self, path: str, version: str) -> dict[str, Any]:
        url = f"{self._metadata}/metadata/{path}?api-version={version}"
        return _mapping(ask(url, headers={"Metadata": "true"}))


def notices(kind: str, *, deletion_notice: bool = False) -> Notices | None:
    """Return the notices of the cloud ``kind``; None for a site of hosts. ``deletion_notice`` is true if the machine's
    group requests notices of deletions."""
    match kind:
        case "aws":
            return AwsNotices()
        case "azure":
            return AzureNotices(deletion_notice=deletion_notice)
        case _:
            return None


def _is_event(event: object) -> bool:
    """Return whether a value has all fields of a scheduled event."""
    texts = ("EventId", "EventType")
    return (
        isinstance(event, dict)
        and all(isinstance(event.get(key), str) for key in texts)
        and isinstance(event.get("Resources"), list)
    )


def _is_open(event: Mapping[str, Any]) -> bool:
    """Return whether an event is the deletion of a single machine, and the deletion has not begun."""
    only = len(event["Resources"]) == 1
    return only and event["EventType"] == "Terminate" and event.get("EventStatus") == "Scheduled"


def _mapping(text: str) -> dict[str, Any]:
    try:
        return json_object(text)
    except ValueError as error:
        raise NotYetError(f"the metadata service's answer cannot be read: {error}") from None


def _not_before(text: str) -> str:
    """Return Azure's time as words with a time in RFC 3339. An empty text, for an event that has begun, becomes the
    present time."""
    try:
        return f"at {parsedate_to_datetime(text).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except ValueError:
        return f"now, {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
