"""Filter for maps of files: ``differing`` returns the files that a host lacks or has in another form."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any


class FilterModule:
    """Entry point that Ansible loads."""

    def filters(self) -> dict[str, Any]:
        return {"differing": differing}


def differing(files: Mapping[str, Mapping[str, Any]], observed: str) -> dict[str, Any]:
    """Return the files of a map (``content``, ``mode``, ``owner``) that the host lacks or has in another form.
    ``observed`` has a line for each file on the host: SHA-256, mode, owner, path."""
    there = set(str(observed).splitlines())
    return {path: file for path, file in files.items() if _line(path, file) not in there}


def _line(path: str, file: Mapping[str, Any]) -> str:
    """Return a file's line in the form of ``sha256sum`` and ``stat --format='%a %U:%G %n'``."""
    digest = sha256(str(file["content"]).encode()).hexdigest()
    return f"{digest} {int(str(file['mode']), 8):o} {file['owner']} {path}"
