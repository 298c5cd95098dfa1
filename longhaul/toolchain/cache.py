"""A cache of finished folders. A folder appears completely or not at all, and is never changed afterwards.

An entry is made in a temporary folder beside its place while the entry's lock is held, and then renamed. So an
interrupted run leaves at most a temporary folder, which the next holder of the lock removes, and two processes never
make the same entry twice.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from longhaul.toolchain.errors import disk_full, from_os

Progress = Callable[[str], None]

_TEMPORARY = ".making-"


def cache_root() -> Path:
    """Return ``$LONGHAUL_CACHE``, else ``longhaul`` in the user's cache folder."""
    if chosen := os.environ.get("LONGHAUL_CACHE"):
        return Path(chosen).expanduser().absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).absolute() / "longhaul"
    return Path.home() / ".cache" / "longhaul"


def digest(*parts: object) -> str:
    """Return a short digest of the parts: bytes as they are, anything else as JSON."""
    total = hashlib.sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode()
        total.update(len(raw).to_bytes(8, "big") + raw)
    return total.hexdigest()[:16]


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def locked(path: Path, *, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock ``path`` during the block. ``waiting`` is called once when another process has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ensure_folder(place: Path, make: Callable[[Path], None], *, what: str, progress: Progress) -> bool:
    """Make ``place`` by ``make(temporary folder)`` unless it exists. Return whether it was made. The folder's
    modification time is the time of its last use."""
    if place.is_dir():
        os.utime(place)
        return False
    try:
        with locked(
            place.parent / f".{place.name}.lock",
            waiting=lambda: progress(f"{what}: another process is making it, waiting"),
        ):
            if place.is_dir():
                return False
            _make(place, make)
    except OSError as error:
        raise from_os(error, path=place.parent, doing=what) from error
    return True


def _make(place: Path, make: Callable[[Path], None]) -> None:
    prefix = f"{_TEMPORARY}{place.name}-"
    for left in place.parent.glob(f"{prefix}*"):
        remove(left)
    temporary = Path(tempfile.mkdtemp(prefix=prefix, dir=place.parent))
    temporary.chmod(0o755)
    try:
        make(temporary)
        temporary.rename(place)
    except BaseException:
        remove(temporary)
        raise


def remove(folder: Path) -> None:
    """Remove a folder, including read-only folders inside it."""
    for parent, _, _ in os.walk(folder):
        os.chmod(parent, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def require_space(folder: Path, *, mib: int, doing: str) -> None:
    """Raise the error for a full disk unless ``folder`` has room for ``mib`` MiB."""
    if shutil.disk_usage(folder).free < mib << 20:
        raise disk_full(folder.parent, doing=f"{doing} (it takes {mib} MiB)")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON for people and programs."""
    path.write_text(json.dumps(value, indent=2, sort_keys=True) + "\n", encoding="utf-8")
