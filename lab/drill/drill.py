"""A drill: one fault, how it is repaired, and what must hold."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lab.drill.environment import DrillEnvironment
from lab.drill.observer import Observing, nothing

Fault = Callable[[DrillEnvironment], AbstractContextManager[str]]
"""Injects the fault and yields where it is; what it needs to be repaired happens when the block ends."""


@dataclass(frozen=True, kw_only=True)
class Drill:
    """One drill."""

    name: str
    summary: str
    """Description of the fault, one line."""
    goal_s: float
    """Longest time in seconds for which nothing may be acknowledged; more is marked, and no failure."""
    fault: Fault
    lasts_s: float = 0.0
    """Seconds for which the fault stays."""
    observing: Observing = nothing
    long: bool = False
    """True for a drill that ``all`` leaves out unless it is asked for long ones too."""
