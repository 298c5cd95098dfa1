"""Settings of the autoscaler that apply to all pools: the times after which it acts, and how much at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from components.model.autoscaler.section import JOINING, LEAVING_PERCENT


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoscalerSettings:
    """Settings of the autoscaler that apply to all pools."""

    share: float = LEAVING_PERCENT / 100
    """Share of a pool that may be removed at once; one node always may. When more look dead, none is touched."""
    dead: timedelta = timedelta(minutes=60)
    """Time after which a node that does not answer counts as dead."""
    leave: timedelta = timedelta(minutes=30)
    """Time in which the pods of a cordoned node must leave. After that the node is uncordoned, since it would block
    others."""
    settle: timedelta = timedelta(minutes=1)
    """Shortest time between a cordon and the end of the machine, so that the scheduler's earlier decisions become
    visible."""
    register: timedelta = timedelta(minutes=2)
    """Time in which all resources of a ready node are registered: a device plugin may start after the node is ready."""
    bind: timedelta = timedelta(minutes=5)
    """Time in which the scheduler tries every waiting pod again (k8s.io/kubernetes, pkg/scheduler/backend/queue,
    ``DefaultPodMaxInUnschedulablePodsDuration``)."""
    joining: int = JOINING
    """Maximum number of machines that may be joining at once, since joins load the API servers. A single gang may
    exceed it."""
    backoff: timedelta = timedelta(minutes=5)
    """Time for which a pool that failed is skipped, doubled by each further failure."""
    backoff_most: timedelta = timedelta(hours=1)
