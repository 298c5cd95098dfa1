"""One file on a machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class File:
    """What a machine's map holds for a path."""

    content: str
    mode: int = 0o644
    owner: str = "root:root"
    """User and group."""
    secret: bool = False
    """Whether the content must not be shown. Nothing in a map is: machines fetch their secrets from the vault."""
