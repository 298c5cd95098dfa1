"""The place of the engine's state, and reading a file backend without asking the engine.

The layout is from pulumi's source, ``pkg/backend/diy`` (v3.250.0): ``.pulumi/stacks/<project>/<stack>.json``, locks in
``.pulumi/locks/organization/<project>/<stack>/<uuid>.json``.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from longhaul.engine.location import pulumi_home


@dataclass(frozen=True, kw_only=True)
class Lock:
    """A lock of a stack, with its holder."""

    path: Path
    pid: int
    user: str
    host: str
    since: datetime | None


@dataclass(frozen=True, kw_only=True)
class Backend:
    """The backend that the engine would use; ``url`` is empty when none is configured."""

    url: str

    @property
    def folder(self) -> Path | None:
        """Return the folder of a file backend; None for other backends."""
        if not self.url.startswith("file://"):
            return None
        path = unquote(urlparse(self.url).path if self.url.startswith("file:///") else self.url[len("file://") :])
        return Path(path.split("?")[0]).expanduser().absolute()

    def state_file(self, project: str, stack: str) -> Path | None:
        """Return the path of the stack's state in a file backend; None when there is none."""
        if self.folder is None:
            return None
        base = self.folder / ".pulumi" / "stacks" / project
        candidates = (base / f"{stack}.json{ending}" for ending in ("", ".gz", ".zst"))
        return next((path for path in candidates if path.is_file()), None)

    def state(self, project: str, stack: str) -> dict[str, Any] | None:
        """Return the stack's newest snapshot; None when it cannot be read here, empty before the first snapshot."""
        path = self.state_file(project, stack)
        if path is None or path.suffix == ".zst":
            return None
        try:
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            latest = json.loads(raw)["checkpoint"].get("latest")
        except (OSError, ValueError, KeyError, AttributeError):
            return None
        return latest if isinstance(latest, dict) else {}

    def locks(self, project: str, stack: str) -> list[Lock]:
        """Return the stack's locks in a file backend; empty for other backends."""
        if self.folder is None:
            return []
        folder = _lock_folder(self.folder, project, stack)
        return [lock for path in sorted(folder.glob("*.json")) if (lock := _lock(path)) is not None]


def half_written(backend: Backend, project: str, stack: str) -> list[Path]:
    """Return the files that a killed engine left half-written beside the stack's state: temporary files, and sidecars
    without content.

    The backend's library (gocloud.dev ``fileblob``) replaces a file in one step, but truncates the file's sidecar
    ``.attrs`` before it fills the sidecar. The library cannot read a file whose sidecar is empty; a missing sidecar
    does no harm.
    """
    if backend.folder is None:
        return []
    base = backend.folder / ".pulumi" / "stacks" / project
    temporary = base.glob(f"{stack}.json*.tmp")
    sidecars = [*base.glob(f"{stack}.json*.attrs"), *_lock_folder(backend.folder, project, stack).glob("*.attrs")]
    return sorted({*temporary, *(path for path in sidecars if not _is_json(path))})


def _lock_folder(folder: Path, project: str, stack: str) -> Path:
    return folder / ".pulumi" / "locks" / "organization" / project / stack


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return True


def current_backend(definition: Mapping[str, Any], environ: Mapping[str, str]) -> Backend:
    """Return the backend that the engine would choose: from the variable, or else the project file, or else the
    login."""
    url = environ.get("PULUMI_BACKEND_URL") or (definition.get("backend") or {}).get("url") or _login(environ)
    return Backend(url=str(url or ""))


def _login(environ: Mapping[str, str]) -> str:
    try:
        stored = json.loads((pulumi_home(environ) / "credentials.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(stored.get("current", "")) if isinstance(stored, dict) else ""


def _lock(path: Path) -> Lock | None:
    """Read a lock; return None when it was removed meanwhile. The holder of an unreadable lock is unknown."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Lock(
            path=path,
            pid=int(content["pid"]),
            user=str(content["username"]),
            host=str(content["hostname"]),
            since=_time(str(content["timestamp"])),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return Lock(path=path, pid=0, user=_owner(path), host="", since=None)


def _time(text: str) -> datetime | None:
    """Parse RFC 3339 in Go's form, which has up to nine digits of a second; six are kept."""
    head, dot, tail = text.partition(".")
    if dot:
        digits = tail[: len(tail) - len(tail.lstrip("0123456789"))]
        text = f"{head}.{digits[:6]:0<6}{tail[len(digits) :]}"
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except (OSError, KeyError):
        return str(os.getuid())
