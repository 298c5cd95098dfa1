"""A filter for maps of files: ``differing`` keeps those that a host does not have so."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any


class FilterModule:
    """What Ansible looks for."""

    def filters(self) -> dict[str, Any]:
        return {"differing": differing}


def differing(files: Mapping[str, Mapping[str, Any]], seen: str) -> dict[str, Any]:
    """The files of a map (``content``, ``mode``, ``owner``) that are not as wanted; ``seen`` has a line for each that
    is there: SHA-256, mode, owner, path."""
    there = set(str(seen).splitlines())
    return {path: file for path, file in files.items() if _line(path, file) not in there}


def _line(path: str, file: Mapping[str, Any]) -> str:
    """As ``sha256sum`` and ``stat --format='%a %U:%G %n'`` write it."""
    digest = sha256(str(file["content"]).encode()).hexdigest()
    return f"{digest} {int(str(file['mode']), 8):o} {file['owner']} {path}"
