"""Condition ``Ready`` of a Node or a Pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contract.kubernetes.times import parse_time


@dataclass(frozen=True)
class ReadyCondition:
    """The condition. Its texts are empty if the object has no such condition yet."""

    status: str = ""
    """``True``, ``False``, or ``Unknown`` if a Node's kubelet is silent."""
    message: str = ""
    since: datetime | None = None
    """Time of the last change of the status."""

    @property
    def is_true(self) -> bool:
        """Return whether the object is ready."""
        return self.status == "True"


def ready_condition(item: Mapping[str, Any]) -> ReadyCondition:
    """Return the condition of an object."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    ready: Mapping[str, Any] = next((condition for condition in conditions if condition.get("type") == "Ready"), {})
    return ReadyCondition(
        status=str(ready.get("status") or ""),
        message=str(ready.get("message") or ""),
        since=parse_time(str(ready.get("lastTransitionTime") or "")),
    )


def is_ready(item: Mapping[str, Any]) -> bool:
    """Return whether a Node or a Pod is ready."""
    return ready_condition(item).is_true
