"""Removes entries of a cache that have not been used for a long time."""

from __future__ import annotations

import time
from pathlib import Path

from longhaul.toolchain.cache import remove

KEPT_S = 7 * 86400.0
"""Seconds since the last use after which an entry may be removed: long enough for a branch that is put aside for some
days."""


def prune(folder: Path) -> list[str]:
    """Remove folders that were last used more than :data:`KEPT_S` seconds ago and that no mount of this machine needs.
    Return their names."""
    if not folder.is_dir():
        return []
    limit = time.time() - KEPT_S
    old = [place for place in folder.iterdir() if not place.name.startswith(".") and place.stat().st_mtime < limit]
    needed = _mounts() if old else ""
    gone = [place for place in old if _as_mounted(place) not in needed]
    for place in gone:
        remove(place)
    return sorted(place.name for place in gone)


def _as_mounted(place: Path) -> str:
    """Return the path in mountinfo's notation (proc(5))."""
    return str(place.resolve()).replace(" ", "\\040")


def _mounts() -> str:
    """Return the mounts of all processes: a lab machine mounts its image in its own mount namespace."""
    by_namespace: dict[int, str] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                namespace = (process / "ns/mnt").stat().st_ino
                if namespace not in by_namespace:
                    by_namespace[namespace] = (process / "mountinfo").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
    return "".join(by_namespace.values())
