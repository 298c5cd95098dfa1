"""Programs that run as root on a person's own machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from longhaul.terminal.exits import CommandError

SYSTEM_FOLDERS = (
    *("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"),
    *("/opt/homebrew/sbin", "/opt/homebrew/bin"),
)
"""Folders of the system's own programs."""


def system_program(name: str) -> str | None:
    """Return the path of a program that may run as root; None without such a program. With sudo, skip a program when
    the person can change it or a folder above it. As root, accept any program in root's ``PATH``."""
    if os.geteuid() == 0:
        return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *SYSTEM_FOLDERS)))
    paths = (shutil.which(name, path=folder) for folder in SYSTEM_FOLDERS)
    return next((path for path in paths if path is not None and not _may_change(Path(path))), None)


def _may_change(path: Path) -> bool:
    """Return whether the person can change a path, the target of its link, or a folder above."""
    effective = os.access in os.supports_effective_ids
    return any(
        place.stat().st_uid == os.geteuid() or os.access(place, os.W_OK, effective_ids=effective)
        for place in (*_above(path), *_above(path.resolve()))
    )


def _above(path: Path) -> tuple[Path, ...]:
    return (path, *path.parents)


def as_root(command: Sequence[str], *, ask: bool = True) -> list[str]:
    """Return the command line that runs a command as root: unchanged for root, else with sudo, which may ask for a
    password if ``ask``."""
    if os.geteuid() == 0:
        return list(command)
    if shutil.which("sudo") is None:
        raise CommandError(
            f"{command[0]} needs root, and there is no sudo: run this as root, or write a file for another program "
            "with --write-only"
        )
    return ["sudo", *([] if ask else ["--non-interactive"]), "--", *command]
