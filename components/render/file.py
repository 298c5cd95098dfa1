"""One file on a machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class File:
    """Content of a file and its permissions."""

    content: str
    mode: int = 0o644
    owner: str = "root:root"
    """User and group."""
    secret: bool = False
    """True when the content must not be shown. No file in user-data is secret: machines fetch their secrets from the
    vault."""
