"""Limits of a roll: how many machines at once, and how long each may take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

AT_ONCE = "1"
"""Number of machines that may be out of service at a time, by default."""
WITHIN = "20m"
"""Time after which a machine has failed, by default."""
BUDGET = 0
"""Number of machines that may fail, by default."""


@dataclass(frozen=True, kw_only=True)
class RollLimits:
    """Limits of a roll."""

    at_once: int
    """Maximum number of machines that the roll may take out of service at a time."""
    deadline: timedelta | None = None
    """Time that work may continue after its node was cordoned; None for no limit."""
