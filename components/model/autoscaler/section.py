"""Section for the autoscaler: whether it works, and the numbers that it keeps to."""

from __future__ import annotations

from pydantic import Field

from clouds.base.section import Section

IDLE_MINUTES, JOIN_MINUTES = 10, 15
LEAVING_PERCENT = 10
JOINING = 500
"""Defaults of the section's numbers."""


class Autoscaler(Section):
    """The autoscaler on the API servers' machines. It sizes the pools between their `min` and `max` according to the
    pods and jobs that wait."""

    dry_run: bool = False
    """True when it only logs what it would do. It then has no right to change a group, a node or a pod."""
    idle_minutes: int = Field(default=IDLE_MINUTES, ge=1, le=10_080)
    """Minutes without work after which a node may be removed."""
    join_minutes: int = Field(default=JOIN_MINUTES, ge=2, le=240)
    """Minutes within which a requested machine must become a node. After that its pool has failed: the pool is skipped
    for a while, and the demand goes to the next pool."""
    leaving_percent: int = Field(default=LEAVING_PERCENT, ge=1, le=100)
    """Largest part of a pool's nodes, in percent, that may be leaving at once; one node may always leave. When more of
    a pool's nodes, or of all nodes, look dead at the same time, none of them is touched."""
    joining: int = Field(default=JOINING, ge=1, le=7500)
    """Largest number of machines that may be joining at once, since joins load the API servers. A larger gang joins
    alone."""
