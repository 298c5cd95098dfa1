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
    says: str = ""
    """Words that `longhaul status` must say while the fault stays."""
    reads_go_on: bool = False
    """True when reads must be answered all the time, though no write is: then ``goal_s`` is about the repair."""
    elections: int | None = None
    """Largest number by which the term of the main etcd cluster may rise."""
    calm_s: float | None = None
    """Longest time in seconds from the fault's end until no request fails any more; more is marked, and no failure."""
    observing: Observing = nothing
    long: bool = False
    """True for a drill that ``all`` leaves out unless it is asked for long ones too."""
