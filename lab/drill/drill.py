"""A drill: one fault, its repair, and the promises that must hold."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lab.drill.environment import DrillEnvironment
from lab.drill.observer import Observing, nothing

Fault = Callable[[DrillEnvironment], AbstractContextManager[str]]
"""Injects the fault, and yields the machines with the fault. The end of the block repairs the fault if that is
needed."""


@dataclass(frozen=True, kw_only=True)
class Drill:
    """One drill."""

    name: str
    summary: str
    """Description of the fault, one line."""
    goal_s: float
    """Longest time in seconds without an acknowledged request; a longer time is marked, but is not a failure."""
    fault: Fault
    lasts_s: float = 0.0
    """Seconds for which the fault stays."""
    says: str = ""
    """Words that `longhaul status` must print while the fault lasts."""
    reads_go_on: bool = False
    """True when reads must be answered during the whole fault, although writes are not; ``goal_s`` then applies to the
    repair."""
    elections: int | None = None
    """Largest number by which the term of the main etcd cluster may rise."""
    calm_s: float | None = None
    """Longest time in seconds from the fault's end until the last request fails; a longer time is marked, but is not a
    failure."""
    observing: Observing = nothing
    long: bool = False
    """True for a drill that ``all`` runs only with ``--long``."""
