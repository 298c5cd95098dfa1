"""A cluster's capacity at one moment, as plain values."""

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
    """A team's use of one kind of capacity."""

    kind: str
    guaranteed: Amount
    used: Amount
    borrowed: Amount
    """Part of the use that exceeds the team's guarantee."""
    may_borrow: int | None
    """Maximum that the team may borrow, in GPUs, or in cores for a kind without GPUs; None when it is not limited."""


@dataclass(frozen=True, kw_only=True)
class PendingJob:
    """A job that does not run yet."""

    name: str
    asks: Amount
    since: datetime | None
    waits_for: str


@dataclass(frozen=True, kw_only=True)
class TeamCapacity:
    """A team's guarantee, use and jobs."""

    name: str
    uses: tuple[Use, ...]
    running: int
    """Number of running jobs."""
    waiting: int
    """Number of waiting jobs."""
    jobs: tuple[PendingJob, ...] | None
    """Waiting jobs, the oldest first; None when the person may not see them."""
    refusal: str = ""
    """Reason why the team's namespace takes no new pods; empty when it takes them, or the person may not see it."""


@dataclass(frozen=True, kw_only=True)
class PoolCapacity:
    """A pool, or the bare-metal hosts of a site."""

    name: str
    site: str
    kind: str
    nodes: int
    ready: int
    coming: int
    """Number of nodes that have registered and have never been ready."""
    free: Amount | None
    """Amount that no pod has requested, on ready nodes that take pods; None when the person may not see pods."""
    most: int | None
    """Maximum number of nodes; None for hosts."""
    region: str = ""
    asked: datetime | None = None
    """Time since which the autoscaler has been requesting more machines than there are nodes; None when it requests
    none."""
    skipped: str = ""
    """Reason why the autoscaler skips the pool, for people; empty when it does not."""
    reason: str = ""
    """Reason for programs, a member of :class:`contract.reasons.autoscaler.WaitReason`; empty as ``skipped`` is."""
    skipped_until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterCapacity:
    """Capacity of a whole cluster at one moment."""

    at: datetime
    teams: tuple[TeamCapacity, ...]
    pools: tuple[PoolCapacity, ...]
    hidden: tuple[str, ...]
    """Kinds of objects that are left out, each with the reason."""
