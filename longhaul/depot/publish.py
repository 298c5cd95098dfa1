"""Publishes a folder completely or not at all, even when machines read the old folder meanwhile.

The new folder is made beside the old folder and is renamed when it is finished. A run cleans up after a killed
run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from longhaul.artifacts.manifest import digest_of, is_depot, verify
from longhaul.toolchain.cache import Progress, locked, remove
from longhaul.toolchain.errors import SetupError, from_os


def publish(to: Path, make: Callable[[Path], None], *, progress: Progress, key: str = "") -> bool:
    """Call ``make(folder)`` to fill a folder, and move it to ``to``. Keep the existing depot and return False if the
    existing depot is intact, has the same digest, and is signed by one of the keys in ``key``, if there are any.
    Otherwise return True.

    Raise :class:`SetupError` when the folder cannot be published.
    """
    to = to.absolute()
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with locked(_beside(to, "lock"), waiting=lambda: progress(f"{to}: another process is making it, waiting")):
            _recover(to)
            require_place(to)
            return _exchange(to, make, key)
    except OSError as error:
        raise from_os(error, path=to.parent, doing=f"making the depot {to}") from error


def require_place(to: Path) -> None:
    """Raise :class:`SetupError` unless ``to`` is missing, empty, or an older depot."""
    if to.is_symlink() or (to.exists() and not to.is_dir()):
        raise SetupError(f"{to} is not a folder: name a folder for the depot")
    if to.is_mount():
        raise SetupError(f"{to} is a mount point, which cannot be replaced as a whole: name a folder below it")
    if to.exists() and any(to.iterdir()) and not is_depot(to):
        raise SetupError(f"{to} holds something that is not a depot; name a new folder, or one with a depot")


def _beside(to: Path, what: str) -> Path:
    return to.parent / f".{to.name}.{what}"


def _recover(to: Path) -> None:
    """Clean up after a killed run. If it had already moved the old depot away, move that back."""
    _put_back(to)
    remove(_beside(to, "old"))
    remove(_beside(to, "part"))


def _put_back(to: Path) -> None:
    old = _beside(to, "old")
    if old.exists() and not to.exists():
        old.rename(to)


def _allow_reading(folder: Path) -> None:
    """Let everybody read a folder, whatever umask its maker has: a web server serves it as a user of its own."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o644))


def _exchange(to: Path, make: Callable[[Path], None], key: str) -> bool:
    part, old = _beside(to, "part"), _beside(to, "old")
    part.mkdir()
    try:
        make(part)
        _allow_reading(part)
        if is_depot(to) and digest_of(part) == digest_of(to) and verify(to, key=key).good:
            return False
        if to.exists():
            to.rename(old)
        part.rename(to)
    finally:
        _put_back(to)
        remove(part)
    remove(old)
    return True
