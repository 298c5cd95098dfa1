"""Times after which the autoscaler acts on any pool (a node counts as dead, a drain has taken too long), and how much
it does at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from components.model.autoscaler.section import JOINING, LEAVING_PERCENT


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingLimits:
    """Limits of the autoscaler that apply to all pools."""

    removable_share: float = LEAVING_PERCENT / 100
    """Share of a pool that may be removed at once; one node may always be removed. When more nodes look dead, none is
    removed."""
    dead_after: timedelta = timedelta(minutes=60)
    """Time after which a node that does not answer counts as dead."""
    drain_time: timedelta = timedelta(minutes=30)
    """Time in which the pods of a cordoned node must leave. After that the node is uncordoned, since it would block the
    removal of other nodes."""
    cordon_time: timedelta = timedelta(minutes=1)
    """Shortest time between a cordon and the end of the machine, so that the scheduler's earlier decisions become
    visible."""
    registration_time: timedelta = timedelta(minutes=2)
    """Time in which all resources of a ready node are registered: a device plugin may start after the node is ready."""
    binding_time: timedelta = timedelta(minutes=5)
    """Time in which the scheduler tries every waiting pod again (k8s.io/kubernetes, pkg/scheduler/backend/queue,
    ``DefaultPodMaxInUnschedulablePodsDuration``)."""
    joining: int = JOINING
    """Maximum number of machines that may be joining at once, since joins load the API servers. A single gang may
    exceed this number."""
    first_backoff: timedelta = timedelta(minutes=5)
    """Time for which a pool that failed is skipped, doubled by each further failure."""
    longest_backoff: timedelta = timedelta(hours=1)
