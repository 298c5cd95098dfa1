"""Capacity at one moment, as far as it is known, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A number of GPUs and of virtual cores."""

    gpus: int = 0
    cores: float = 0


@dataclass(frozen=True, kw_only=True)
class Use:
    """One kind of capacity of a team."""

    kind: str
    guaranteed: Amount
    used: Amount
    borrowed: Amount
    """Part of what is used that is not its own."""
    may_borrow: int | None
    """Most that it may borrow, in GPUs, or cores of a kind without; None for all that is free."""


@dataclass(frozen=True, kw_only=True)
class PendingJob:
    """A job that does not run yet."""

    name: str
    asks: Amount
    since: datetime | None
    waits_for: str


@dataclass(frozen=True, kw_only=True)
class TeamCapacity:
    """A team."""

    name: str
    uses: tuple[Use, ...]
    running: int
    """Number of jobs that run."""
    waiting: int
    """Number of jobs that wait."""
    jobs: tuple[PendingJob, ...] | None
    """Jobs that wait, the oldest first; None when they may not be seen."""


@dataclass(frozen=True, kw_only=True)
class PoolCapacity:
    """A pool, or the hosts of a site."""

    name: str
    site: str
    kind: str
    nodes: int
    ready: int
    coming: int
    """Number of nodes that have registered and are not ready for the first time."""
    free: Amount | None
    """Amount that no pod has, on ready nodes that take pods; None when pods may not be seen."""
    most: int | None
    """Largest number of nodes; None for hosts."""
    region: str = ""
    asked: datetime | None = None
    """Time since which its cloud has been asked for more than are nodes."""
    skipped: str = ""
    """Reason for which it is not asked; empty when it may be."""
    skipped_until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterCapacity:
    """Everything at one moment."""

    at: datetime
    teams: tuple[TeamCapacity, ...]
    pools: tuple[PoolCapacity, ...]
    hidden: tuple[str, ...]
    """Things that are left out, each with the reason."""
