"""Notices of a cloud that it takes this machine back, as its metadata service gives them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from node_metadata import AZURE_VERSION, METADATA, TOKEN_LIFE_S, NotThereError, NotYetError, ask

EVENTS_VERSION = "2020-07-01"
"""API version of Azure's scheduled events (learn.microsoft.com, "Azure Metadata Service: Scheduled Events for Linux
VMs", version and region availability)."""


class Notices(Protocol):
    """Notices to one machine. Every method raises ``NotYetError`` when the metadata service gives no answer."""

    def spot(self) -> bool:
        """Return whether the cloud may take the machine back at all."""

    def interruption(self) -> str:
        """Return when and why the machine ends, as a sentence; empty when there is no such notice."""

    def recommendation(self) -> str:
        """Return a sentence when the cloud recommends to replace the machine, which may end soon; else empty."""


class AwsNotices:
    """Notices to a spot instance of EC2 (docs.aws.amazon.com, EC2 user guide, "Spot Instance interruption notices" and
    "EC2 instance rebalance recommendations"): two minutes before its end, as a rule."""

    def __init__(self, metadata: str = METADATA) -> None:
        self._metadata = metadata

    def spot(self) -> bool:
        """Return whether it is a spot instance."""
        return self._tell("instance-life-cycle").strip() == "spot"

    def interruption(self) -> str:
        """Return what happens to the instance, and when."""
        told = self._document("spot/instance-action")
        return f"EC2 will {told.get('action')} this spot instance at {told.get('time')}" if told else ""

    def recommendation(self) -> str:
        """Return when EC2 said that the risk of an interruption is higher now."""
        told = self._document("events/recommendations/rebalance")
        return f"EC2 says since {told.get('noticeTime')} that this instance may be interrupted soon" if told else ""

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
    """Notices to a spot machine of a scale set: scheduled events of the type ``Preempt`` (learn.microsoft.com, "Azure
    Metadata Service: Scheduled Events for Linux VMs"), at least 30 seconds before its end. All machines of a scale set
    may get the events of each."""

    def __init__(self, metadata: str = METADATA) -> None:
        self._metadata = metadata
        self._name = ""

    def spot(self) -> bool:
        """Return whether it is a spot machine."""
        compute = self._document("instance", AZURE_VERSION).get("compute") or {}
        self._name = str(compute.get("name") or "")
        return compute.get("priority") == "Spot"

    def interruption(self) -> str:
        """Return when the machine is preempted."""
        for event in self._document("scheduledevents", EVENTS_VERSION).get("Events") or ():
            if event.get("EventType") == "Preempt" and self._name in (event.get("Resources") or ()):
                return f"Azure preempts this spot machine {_not_before(str(event.get('NotBefore') or ''))}"
        return ""

    def recommendation(self) -> str:
        """Return nothing: Azure recommends nothing."""
        return ""

    def _document(self, path: str, version: str) -> dict[str, Any]:
        url = f"{self._metadata}/metadata/{path}?api-version={version}"
        return _mapping(ask(url, headers={"Metadata": "true"}))


def notices(kind: str) -> Notices | None:
    """Return the notices of the cloud ``kind``; None for a site whose machines nobody takes back."""
    match kind:
        case "aws":
            return AwsNotices()
        case "azure":
            return AzureNotices()
        case _:
            return None


def _mapping(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise NotYetError(f"the metadata service's answer is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise NotYetError("the metadata service's answer is no mapping")
    return found


def _not_before(text: str) -> str:
    """Return Azure's time in RFC 3339; it is empty for an event that has begun."""
    try:
        return f"at {parsedate_to_datetime(text).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except ValueError:
        return f"now, {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
