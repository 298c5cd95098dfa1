"""Groups and pools, with the number of machines that each has or will have."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from contract.documents.autoscaler_memory import machine_key
from contract.kubernetes.quantities import Resources
from contract.reasons.autoscaler import Obstacle
from services.autoscaler.cluster_snapshot import (
    ScalingGroup,
    ScalingPool,
    UnjoinedMachine,
)
from services.autoscaler.pod_shapes import SchedulingTaint


class GroupOutlook:
    """A group, with the numbers and reasons that follow from its state."""

    def __init__(
        self,
        group: ScalingGroup,
        *,
        nodes: int,
        now: datetime,
        join: timedelta,
        expected: int = 0,
        since: datetime | None = None,
        lost: frozenset[str] = frozenset(),
        unlisted: int = 0,
    ) -> None:
        """``nodes`` is the number of the group's machines that are nodes and will stay. ``expected`` is the last known
        or requested number of its machines. ``since`` is the time since which the group has lacked machines. ``lost``
        are the keys of machines that were nodes before. ``unlisted`` is the number of machines that have no node and
        that recently disappeared from the group's list."""
        self.group, self.name, self.unlisted = group, group.name, unlisted
        former = {machine.id for machine in group.unjoined if machine_key(group.name, machine.id) in lost}
        self.late = tuple(
            machine for machine in group.unjoined if machine.made_at is not None and now - machine.made_at > join
        )
        """Machines that have not become nodes in time."""
        self.lost = len(former)
        """Number of machines without a node that were nodes before. Somebody may have deleted these nodes while work
        was on the machines."""
        self.gone = len({machine.id for machine in self.late} | former)
        """Number of machines without a node that are not expected to become one."""
        self.nodes = nodes
        self.size = group.wanted - len(group.refused)
        """Number of machines that the group should have once its refused machines have been ended."""
        self.overdue = bool(group.error) and (since is None or now - since > join)
        """True when the cloud gives no current answer, and requested machines are no longer expected: the group has
        lacked machines for longer than ``join``, or ``since`` is None."""
        if group.error:
            # Machines that were requested after the cloud's last answer will come all the same.
            self.size = max(self.size, nodes, expected)
        self.blocked: Obstacle | None = None
        """Reason why no machine is requested from the group; None when machines may be requested."""
        self.failed: Obstacle | None = None
        """Reason why the group has not made the requested machines; None when it has made them, or still may."""

    @property
    def present(self) -> int:
        """Return the number of machines that exist or are expected."""
        return max(self.size, self.group.machines)

    @property
    def room(self) -> int:
        """Return the number of machines by which the group may still grow."""
        return 0 if self.group.error or self.blocked else max(0, self.group.max - self.present)

    @property
    def coming(self) -> int:
        """Return the number of machines that are expected to become nodes."""
        return 0 if self.overdue else max(0, self.present - self.nodes - self.gone)


class PoolOutlook:
    """A pool, with the numbers and reasons that follow from its state."""

    def __init__(self, pool: ScalingPool, groups: Sequence[GroupOutlook], *, capacity: Resources) -> None:
        self.pool, self.name, self.groups, self.capacity = pool, pool.name, groups, capacity
        self.taints = tuple(sorted(SchedulingTaint(*taint) for taint in pool.taints))
        self.blocked: Obstacle | None = None
        """Reason why no machine is requested from the pool; None when machines may be requested."""
        self.unfit: Obstacle | None = None
        """Reason why none of the pool's last machines became fit for pods; None without such a failure."""
        self.bought = 0
        """Number of machines that the autoscaler requests for the pool in the present decision."""

    @property
    def is_frozen(self) -> bool:
        """Return whether the pool's nodes are left alone: somebody else controls the pool's size at the moment, or its
        cloud does not answer."""
        return self.pool.closed is not None or any(view.group.error for view in self.groups)

    @property
    def present(self) -> int:
        """Return the number of machines that exist or are expected."""
        return sum(group.present for group in self.groups)

    @property
    def room(self) -> int:
        """Return the number of machines by which the pool may still grow."""
        return 0 if self.blocked else max(0, self.pool.max - self.present)


def unjoined(view: GroupOutlook) -> tuple[UnjoinedMachine, ...]:
    """Return the machines that have not become nodes in time, the oldest first."""
    return tuple(sorted(view.late, key=lambda machine: (str(machine.made_at), machine.id)))
