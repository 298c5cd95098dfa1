"""Journal of a verifier: one record for each request that ended, and for each event of its watch."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class RecordKind(StrEnum):
    """Kinds of records."""

    WRITE = "write"
    """A creation of a key that nobody else writes."""
    PROBE = "probe"
    """An update of the one object that is requested five times a second."""
    READ = "read"
    """A linearizable read of that object."""
    EVENT = "event"
    """A key that the watch reported."""
    RELIST = "relist"
    """A key from a list, which replaces the watch at its start and when it could not continue where it had stopped."""


class RequestOutcome(StrEnum):
    """Outcomes of a request."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    """The request was not carried out, and the answer says so."""
    UNKNOWN = "unknown"
    """The request may have been carried out: there was no answer, or one that does not tell."""


@dataclass(frozen=True, kw_only=True)
class JournalRecord:
    """One request or event."""

    kind: RecordKind
    began: float
    """Moment before the request was sent, seconds of the machine's monotonic clock."""
    ended: float
    """Moment after its answer arrived; for an event the same as ``began``."""
    outcome: RequestOutcome = RequestOutcome.ACKNOWLEDGED
    key: str = ""
    value: str = ""
    revision: int = 0
    """Revision of the object in the answer, for a list that of the whole list; 0 when there is none."""
    reason: str = ""
    """Reason why the request was not acknowledged."""


class DrillJournal:
    """Records in a file, one JSON object a line, handed to the kernel before :meth:`write` returns. Safe for many
    threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._file = path.open("w", encoding="utf-8")
        self.acknowledged = 0
        """Number of writes and probes that were acknowledged so far."""

    def write(self, record: JournalRecord) -> None:
        """Append a record."""
        line = json.dumps(asdict(record), separators=(",", ":")) + "\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()
            if record.kind in (RecordKind.WRITE, RecordKind.PROBE) and record.outcome is RequestOutcome.ACKNOWLEDGED:
                self.acknowledged += 1

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()


def read(path: Path) -> tuple[JournalRecord, ...]:
    """Return the records of a journal, without a last line that was cut off."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return tuple(_record(json.loads(line)) for line in lines[:-1])


def _record(raw: dict[str, Any]) -> JournalRecord:
    return JournalRecord(**{**raw, "kind": RecordKind(raw["kind"]), "outcome": RequestOutcome(raw["outcome"])})


def of_kind(records: Iterable[JournalRecord], *kinds: RecordKind) -> list[JournalRecord]:
    """Return the acknowledged records of these kinds, in the order in which they ended."""
    matches = [record for record in records if record.kind in kinds and record.outcome is RequestOutcome.ACKNOWLEDGED]
    return sorted(matches, key=lambda record: record.ended)
