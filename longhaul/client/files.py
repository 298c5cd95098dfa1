"""Files that only the current user can read."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def config_folder(name: str) -> Path:
    """Return the folder with a person's files of an environment (XDG Base Directory Specification)."""
    return _folder("XDG_CONFIG_HOME", ".config") / name


def state_folder(name: str) -> Path:
    """Return a folder for the program's state between runs (XDG Base Directory Specification)."""
    return _folder("XDG_STATE_HOME", ".local/state") / name


def _folder(variable: str, default: str) -> Path:
    base = os.environ.get(variable)
    return (Path(base) if base else Path.home() / default) / "longhaul"
