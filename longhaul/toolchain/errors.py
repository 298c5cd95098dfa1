"""Errors of setup steps, with messages that a user can act on."""

from __future__ import annotations

import errno
from pathlib import Path


class SetupError(Exception):
    """A setup step failed. The message says what, where, and what to do."""


class ToolCommandError(SetupError):
    """A command failed. ``output`` has the last lines of its output."""

    def __init__(self, message: str, *, output: str) -> None:
        super().__init__(message)
        self.output = output


_NO_NETWORK = (
    "connection refused",
    "connection timed out",
    "could not resolve",
    "dial tcp",
    "i/o timeout",
    "name or service not known",
    "network is unreachable",
    "no such host",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "tls handshake timeout",
)


def is_network(output: str) -> bool:
    """Return whether a command's output mentions a server that it could not reach."""
    low = output.lower()
    return any(sign in low for sign in _NO_NETWORK)


def is_disk_full(output: str) -> bool:
    """Return whether a command's output mentions a full disk."""
    low = output.lower()
    return "no space left on device" in low or "disk quota exceeded" in low


def disk_full(path: Path, *, doing: str) -> SetupError:
    """Return the error for a full disk below ``path``."""
    return SetupError(
        f"{doing}: the disk that holds {path} is full.\n"
        f"Free some space there (see `df -h {path}`) or point LONGHAUL_CACHE at a folder on a larger disk, and run it "
        "again: nothing incomplete was kept."
    )


def from_os(error: OSError, *, path: Path, doing: str) -> SetupError:
    """Return the error for a failed file operation."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(path, doing=doing)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return SetupError(
            f"{doing}: {error.filename or path} cannot be written ({error.strerror}). Run it as the folder's owner."
        )
    return SetupError(f"{doing}: {error}")
