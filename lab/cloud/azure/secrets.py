"""Storage of secrets: one sqlite file, readable by its owner only. Values are never logged."""

from __future__ import annotations

import json
import sqlite3
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS versions (
    vault TEXT, name TEXT, version TEXT, created INTEGER, sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    value TEXT NOT NULL, content_type TEXT, tags TEXT, attributes TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS versions_by_name ON versions (vault, name);
CREATE TABLE IF NOT EXISTS deleted (vault TEXT, name TEXT, at INTEGER, PRIMARY KEY (vault, name));
"""


@dataclass(frozen=True, kw_only=True)
class SecretVersion:
    """One version of a secret."""

    vault: str
    name: str
    version: str
    created: int
    """Seconds since the epoch."""
    value: str = field(repr=False)
    content_type: str | None
    tags: dict[str, str] | None
    attributes: dict[str, Any]
    """``enabled``, ``nbf``, ``exp``, ``updated``."""


class SecretStore:
    """Versions of secrets, and the names of deleted secrets. Vault and secret names compare without regard to case."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA secure_delete=ON")
        self._db.executescript(SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def add(
        self,
        *,
        vault: str,
        name: str,
        value: str,
        content_type: str | None,
        tags: dict[str, str] | None,
        attributes: dict[str, Any],
    ) -> SecretVersion:
        """Store a new version, which becomes the current one, and return it."""
        now = int(time.time())
        version = SecretVersion(
            vault=vault.lower(),
            name=name.lower(),
            version=uuid.uuid4().hex,
            created=now,
            value=value,
            content_type=content_type,
            tags=tags,
            attributes={"enabled": True, **attributes, "updated": now},
        )
        self._db.execute(
            "INSERT INTO versions (vault, name, version, created, value, content_type, tags, attributes) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                version.vault,
                version.name,
                version.version,
                now,
                value,
                content_type,
                json.dumps(tags),
                json.dumps(version.attributes),
            ),
        )
        return version

    def update(
        self,
        version: SecretVersion,
        *,
        content_type: str | None,
        tags: dict[str, str] | None,
        attributes: dict[str, Any],
    ) -> None:
        """Change everything of one version except its value."""
        self._db.execute(
            "UPDATE versions SET content_type = ?, tags = ?, attributes = ? WHERE vault = ? AND name = ? AND version "
            "= ?",
            (
                content_type,
                json.dumps(tags),
                json.dumps({**attributes, "updated": int(time.time())}),
                version.vault,
                version.name,
                version.version,
            ),
        )

    def versions(self, *, vault: str, name: str) -> list[SecretVersion]:
        """Return all versions of a secret, newest first, even if the secret is deleted."""
        rows = self._db.execute(
            "SELECT vault, name, version, created, value, content_type, tags, attributes FROM versions "
            "WHERE vault = ? AND name = ? ORDER BY sequence DESC",
            (vault.lower(), name.lower()),
        )
        return [_version(row) for row in rows]

    def names(self, *, vault: str, deleted: bool = False) -> list[str]:
        """Return the names of a vault's live secrets, or of its deleted ones."""
        gone = {row[0] for row in self._db.execute("SELECT name FROM deleted WHERE vault = ?", (vault.lower(),))}
        rows = self._db.execute("SELECT DISTINCT name FROM versions WHERE vault = ? ORDER BY name", (vault.lower(),))
        return [row[0] for row in rows if (row[0] in gone) == deleted]

    def deleted_at(self, *, vault: str, name: str) -> int | None:
        """Return the time at which a secret was deleted, in seconds since the epoch; ``None`` when it is not
        deleted."""
        row = self._db.execute(
            "SELECT at FROM deleted WHERE vault = ? AND name = ?", (vault.lower(), name.lower())
        ).fetchone()
        return int(row[0]) if row else None

    def delete(self, *, vault: str, name: str) -> None:
        """Mark a secret as deleted; it can be recovered."""
        self._db.execute(
            "INSERT OR REPLACE INTO deleted VALUES (?, ?, ?)", (vault.lower(), name.lower(), int(time.time()))
        )

    def recover(self, *, vault: str, name: str) -> None:
        """Recover a deleted secret."""
        self._db.execute("DELETE FROM deleted WHERE vault = ? AND name = ?", (vault.lower(), name.lower()))

    def purge(self, *, vault: str, name: str | None = None) -> None:
        """Remove a secret, or all secrets of a vault, for ever."""
        if name is None:
            self._db.execute("DELETE FROM versions WHERE vault = ?", (vault.lower(),))
            self._db.execute("DELETE FROM deleted WHERE vault = ?", (vault.lower(),))
        else:
            key = (vault.lower(), name.lower())
            self._db.execute("DELETE FROM versions WHERE vault = ? AND name = ?", key)
            self._db.execute("DELETE FROM deleted WHERE vault = ? AND name = ?", key)


def _version(row: tuple[Any, ...]) -> SecretVersion:
    return SecretVersion(
        vault=row[0],
        name=row[1],
        version=row[2],
        created=row[3],
        value=row[4],
        content_type=row[5],
        tags=json.loads(row[6]) if row[6] else None,
        attributes=json.loads(row[7]),
    )
