"""What can be said of something."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """How something is."""

    OK = "ok"
    UNWELL = "unwell"
    DEGRADED = "degraded"
    """A store that works, with fewer members than it should have."""
    DOWN = "down"
    MISSING = "missing"
    """In the environment's file, not in the cloud."""
    UNEXPECTED = "unexpected"
    """In the cloud, not in the environment's file."""
    UNKNOWN = "unknown"
    """Cannot be seen from here; no fault by itself."""
