"""Desired state of the lab's clouds: documents by resource id, in one sqlite file.

All writes happen in the daemon's event loop, one at a time. A write is durable when the call returns, so a daemon that
is killed and started again answers as before.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    key TEXT PRIMARY KEY, id TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL, hidden TEXT NOT NULL,
    etag TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS documents_by_type ON documents (type);
CREATE TABLE IF NOT EXISTS records (kind TEXT, key TEXT, value TEXT NOT NULL, PRIMARY KEY (kind, key));
"""


@dataclass(frozen=True, kw_only=True)
class ResourceDocument:
    """One resource in the form of its cloud's API."""

    id: str
    """Resource id, in the casing of its creation."""
    type: str
    """Resource type, for example ``Microsoft.Network/virtualNetworks``."""
    body: dict[str, Any]
    """Body that the API accepts and returns."""
    hidden: dict[str, Any]
    """Data that only the lab knows: write-only properties, power state, generation."""
    etag: str

    @property
    def key(self) -> str:
        """Id in lower case: resource ids compare without regard to case."""
        return self.id.lower()

    @property
    def name(self) -> str:
        """Last segment of the id."""
        return self.id.rsplit("/", 1)[-1]


class DocumentStore:
    """Documents and small records. Not thread-safe: one event loop owns it.

    Raises:
        sqlite3.Error: the file cannot be written (disk full, no permission).
    """

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.executescript(SCHEMA)
        self._revision = 1
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._db.close()

    @property
    def revision(self) -> int:
        """Revision: 1 at the start of this process, and one more with each change."""
        return self._revision

    async def wait_changed(self, after: int) -> int:
        """Wait until the revision is greater than ``after``, and return the revision."""
        while self._revision <= after:
            await self._changed.wait()
        return self._revision

    def touch(self) -> None:
        """Count a change of state that is stored elsewhere, as if a document had changed."""
        self._notify()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes of the block together, or none of them. Transactions can be nested; the outermost one
        commits."""
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        self._notify()

    def get(self, resource_id: str) -> ResourceDocument | None:
        """Return the document of this id, in any casing; None when there is none."""
        row = self._db.execute(
            "SELECT id, type, body, hidden, etag FROM documents WHERE key = ?", (resource_id.lower(),)
        ).fetchone()
        return _document(row) if row else None

    def put(
        self, resource_id: str, *, type: str, body: dict[str, Any], hidden: dict[str, Any] | None = None
    ) -> ResourceDocument:
        """Create or replace a document; an existing one keeps the casing of its id."""
        old = self.get(resource_id)
        document = ResourceDocument(
            id=old.id if old else resource_id,
            type=old.type if old else type,
            body=body,
            hidden=hidden if hidden is not None else (old.hidden if old else {}),
            etag=str(uuid.uuid4()),
        )
        with self.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?)",
                (
                    document.key,
                    document.id,
                    document.type,
                    json.dumps(document.body),
                    json.dumps(document.hidden),
                    document.etag,
                ),
            )
        return document

    def delete(self, resource_id: str) -> bool:
        """Remove one document, but not the documents below it; return whether the document existed."""
        with self.transaction():
            cursor = self._db.execute("DELETE FROM documents WHERE key = ?", (resource_id.lower(),))
        return cursor.rowcount > 0

    def below(self, scope: str) -> list[ResourceDocument]:
        """Return every document whose id starts with ``scope`` and a slash, in the order of their ids."""
        prefix = scope.lower().rstrip("/") + "/"
        rows = self._db.execute(
            "SELECT id, type, body, hidden, etag FROM documents WHERE substr(key, 1, ?) = ? ORDER BY key",
            (len(prefix), prefix),
        )
        return [_document(row) for row in rows]

    def of_type(self, type: str) -> list[ResourceDocument]:
        """Return every document of a type, in the order of their ids."""
        rows = self._db.execute(
            "SELECT id, type, body, hidden, etag FROM documents WHERE type = ? COLLATE NOCASE ORDER BY key", (type,)
        )
        return [_document(row) for row in rows]

    def record(self, kind: str, key: str) -> Any:
        """Return a small value that is not a document (an operation, a deleted vault), or ``None``."""
        row = self._db.execute("SELECT value FROM records WHERE kind = ? AND key = ?", (kind, key)).fetchone()
        return json.loads(row[0]) if row else None

    def records(self, kind: str) -> dict[str, Any]:
        """Return all small values of a kind, by key."""
        rows = self._db.execute("SELECT key, value FROM records WHERE kind = ? ORDER BY key", (kind,))
        return {key: json.loads(value) for key, value in rows}

    def set_record(self, kind: str, key: str, value: Any) -> None:
        """Write a small value; ``None`` removes it. Does not count as a change."""
        if value is None:
            self._db.execute("DELETE FROM records WHERE kind = ? AND key = ?", (kind, key))
        else:
            self._db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (kind, key, json.dumps(value)))

    def _notify(self) -> None:
        self._revision += 1
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def _document(row: tuple[str, str, str, str, str]) -> ResourceDocument:
    return ResourceDocument(id=row[0], type=row[1], body=json.loads(row[2]), hidden=json.loads(row[3]), etag=row[4])
