"""Long-running operations, and the resource manager's answers about them.

An operation is a record in the store, so a client that polls it across a restart of the daemon still gets an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from lab.cloud.azure.errors import ArmError
from lab.cloud.store import DocumentStore

KIND = "operation"
KEPT = timedelta(hours=1)
"""Time for which a finished operation is remembered."""


class Operations:
    """Starts, finishes and shows operations."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._done: dict[str, asyncio.Event] = {}

    def start(self, *, resource_id: str, until: float | None = None, locked: Iterable[str] = ()) -> str:
        """Record a new operation on a resource and return its id. ``until``: the moment at which the operation ends, in
        seconds since the epoch, if known. ``locked``: keys of resources that no other change may touch meanwhile."""
        operation_id = str(uuid.uuid4())
        record = {"status": "InProgress", "startTime": _now(), "resource": resource_id}
        self._store.set_record(KIND, operation_id, {**record, "until": until, "held": sorted(locked)})
        return operation_id

    def succeed(self, operation_id: str, output: Any = None) -> None:
        """Mark an operation as succeeded, with its output."""
        self._finish(operation_id, {"status": "Succeeded", "output": output})

    def fail(self, operation_id: str, error: ArmError) -> None:
        """Mark an operation as failed."""
        self._finish(operation_id, {"status": "Failed", "error": error.document()["error"]})

    def pending(self) -> dict[str, dict[str, Any]]:
        """Return the operations that are not finished, by id."""
        return pending(self._store)

    def prune(self) -> None:
        """Forget operations that finished longer than :data:`KEPT` ago."""
        before = (datetime.now(UTC) - KEPT).isoformat()
        for key, value in self._store.records(KIND).items():
            if value.get("endTime", "~") < before:
                self._store.set_record(KIND, key, None)

    def get(self, operation_id: str) -> dict[str, Any]:
        """Return an operation's record.

        Raises:
            ArmError: 404 when there is no such operation.
        """
        record = self._store.record(KIND, operation_id)
        if record is None:
            raise ArmError(404, "NotFound", f"The entity was not found: operation {operation_id}.")
        operation: dict[str, Any] = record
        return operation

    async def wait(self, operation_id: str, *, timeout_s: float) -> dict[str, Any]:
        """Return the operation's record once it is finished, or after ``timeout_s``."""
        record = self.get(operation_id)
        if record["status"] == "InProgress" and timeout_s > 0:
            event = self._done.setdefault(operation_id, asyncio.Event())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), timeout_s)
            record = self.get(operation_id)
        return record

    def _finish(self, operation_id: str, outcome: dict[str, Any]) -> None:
        record = self._store.record(KIND, operation_id)
        if record is None:
            return
        self._store.set_record(KIND, operation_id, {**record, **outcome, "endTime": _now()})
        event = self._done.pop(operation_id, None)
        if event:
            event.set()


def pending(store: DocumentStore) -> dict[str, dict[str, Any]]:
    """Return the operations that are not finished, by id."""
    return {key: value for key, value in store.records(KIND).items() if value["status"] == "InProgress"}


def shown(operation_id: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return an operation as ``Azure-AsyncOperation`` shows it."""
    body = {"name": operation_id, "status": record["status"], "startTime": record["startTime"]}
    if "endTime" in record:
        body["endTime"] = record["endTime"]
    if record.get("output") is not None:
        body["properties"] = {"output": record["output"]}
    if "error" in record:
        body["error"] = record["error"]
    return body


def _now() -> str:
    return datetime.now(UTC).isoformat()
