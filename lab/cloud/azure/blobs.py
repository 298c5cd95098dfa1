"""Storage of blobs: their metadata in one sqlite file, their content in files beside it."""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SCHEMA = """
CREATE TABLE IF NOT EXISTS containers (account TEXT, name TEXT, PRIMARY KEY (account, name));
CREATE TABLE IF NOT EXISTS blobs (
    account TEXT, container TEXT, name TEXT, file TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL,
    modified REAL NOT NULL, content_type TEXT NOT NULL, PRIMARY KEY (account, container, name));
CREATE TABLE IF NOT EXISTS blocks (
    account TEXT, container TEXT, name TEXT, block TEXT, file TEXT NOT NULL,
    PRIMARY KEY (account, container, name, block));
CREATE TABLE IF NOT EXISTS metadata (
    account TEXT, container TEXT, name TEXT, value TEXT NOT NULL, PRIMARY KEY (account, container, name));
"""
BLOBS = """
SELECT name, file, size, etag, modified, content_type, COALESCE(value, '{}')
FROM blobs LEFT JOIN metadata USING (account, container, name) WHERE account = ? AND container = ?
"""
"""Query of a container's blobs with their metadata."""

CHUNK = 1 << 20
"""Number of bytes copied at a time."""

Key = tuple[str, str, str]
"""Account, container, blob."""


@dataclass(frozen=True, kw_only=True)
class Blob:
    """One blob."""

    name: str
    path: Path
    size: int
    etag: str
    modified: float
    """Seconds since the epoch."""
    content_type: str
    metadata: Mapping[str, str]


class BlobStore:
    """Containers, blobs, and blocks that are not committed yet."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._db = sqlite3.connect(folder / "blobs.sqlite", isolation_level=None)
        self._db.executescript(SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add_container(self, account: str, name: str) -> bool:
        """Make a container; return False when it exists already."""
        return self._db.execute("INSERT OR IGNORE INTO containers VALUES (?, ?)", (account, name)).rowcount == 1

    def has_container(self, account: str, name: str) -> bool:
        """Return whether a container exists."""
        query = "SELECT 1 FROM containers WHERE account = ? AND name = ?"
        return self._db.execute(query, (account, name)).fetchone() is not None

    async def receive(self, content: AsyncIterator[bytes]) -> Path:
        """Write content to a new file, and return its path."""
        path = self._folder / uuid.uuid4().hex
        with path.open("wb") as file:
            async for chunk in content:
                file.write(chunk)
        return path

    def put(self, key: Key, path: Path, *, content_type: str, metadata: Mapping[str, str]) -> Blob:
        """Make ``path`` the blob's content, and remove the former content."""
        old = self.get(key)
        row = (*key, path.name, path.stat().st_size, f'"0x{uuid.uuid4().hex[:16].upper()}"', time.time(), content_type)
        self._db.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._db.execute("INSERT OR REPLACE INTO metadata VALUES (?, ?, ?, ?)", (*key, json.dumps(dict(metadata))))
        if old is not None:
            old.path.unlink(missing_ok=True)
        return self._blob((*row[2:], json.dumps(dict(metadata))))

    def get(self, key: Key) -> Blob | None:
        """Return the blob, or None when there is none."""
        row = self._db.execute(f"{BLOBS} AND name = ?", key).fetchone()
        return self._blob(row) if row else None

    def names(self, account: str, container: str, *, prefix: str) -> list[Blob]:
        """Return the blobs whose names begin with ``prefix``, sorted by name."""
        rows = self._db.execute(f"{BLOBS} ORDER BY name", (account, container)).fetchall()
        return [self._blob(row) for row in rows if str(row[0]).startswith(prefix)]

    def delete(self, key: Key) -> None:
        """Remove a blob and its content."""
        blob = self.get(key)
        self._db.execute("DELETE FROM blobs WHERE account = ? AND container = ? AND name = ?", key)
        if blob is not None:
            blob.path.unlink(missing_ok=True)

    def stage(self, key: Key, block: str, path: Path) -> None:
        """Keep a block until it is committed."""
        self._db.execute("INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?, ?)", (*key, block, path.name))

    def commit(self, key: Key, blocks: list[str], *, content_type: str, metadata: Mapping[str, str]) -> Blob | None:
        """Join staged blocks in the given order, and return the blob; None when one of the blocks is not staged."""
        query = "SELECT block, file FROM blocks WHERE account = ? AND container = ? AND name = ?"
        staged: dict[str, str] = dict(self._db.execute(query, key).fetchall())
        if any(block not in staged for block in blocks):
            return None
        path = self._folder / uuid.uuid4().hex
        with path.open("wb") as file:
            for block in blocks:
                with (self._folder / staged[block]).open("rb") as part:
                    while chunk := part.read(CHUNK):
                        file.write(chunk)
        self._db.execute("DELETE FROM blocks WHERE account = ? AND container = ? AND name = ?", key)
        for name in staged.values():
            (self._folder / name).unlink(missing_ok=True)
        return self.put(key, path, content_type=content_type, metadata=metadata)

    def _blob(self, row: tuple[object, ...]) -> Blob:
        name, file, size, etag, modified, content_type, metadata = (str(value) for value in row)
        return Blob(
            name=name,
            path=self._folder / file,
            size=int(size),
            etag=etag,
            modified=float(modified),
            content_type=content_type,
            metadata=json.loads(metadata),
        )
