"""Section for the autoscaler: whether it works, and the numbers that it keeps to."""

from __future__ import annotations

from pydantic import Field

from clouds.base.section import Section

IDLE_MINUTES, JOIN_MINUTES = 10, 15
LEAVING_PERCENT = 10
JOINING = 500
"""Defaults of the section's numbers."""


class Autoscaler(Section):
    """The autoscaler on the API servers' machines. It sizes the pools between their `min` and `max` by what waits."""

    dry_run: bool = False
    """True when it only says in its log what it would do. It then has no right to change a group, a node or a pod."""
    idle_minutes: int = Field(default=IDLE_MINUTES, ge=1, le=10_080)
    """Minutes without work after which a node may go."""
    join_minutes: int = Field(default=JOIN_MINUTES, ge=2, le=240)
    """Minutes in which a machine that was asked for becomes a node. Later, its pool has failed: it is skipped for a
    while, and the demand goes to the next one."""
    leaving_percent: int = Field(default=LEAVING_PERCENT, ge=1, le=100)
    """Largest part of a pool's nodes, in percent, that is on its way out at once; one node always may be. When more of
    a pool's nodes look dead together, none of the pool is touched."""
    joining: int = Field(default=JOINING, ge=1, le=7500)
    """Largest number of machines that are on their way at once, since joins load the API servers. A larger gang goes
    alone."""
