"""Priority classes of pods: which are scheduled first, and which may be evicted for others. Kueue's priorities of jobs
are in team_queues.py.

Pods without a class have priority 0. System classes of Kubernetes start at 2,000,000,000, and 1,000,000,000 is the
largest that others may have (kubernetes.io, "Pod Priority and Preemption"). The steps between ours leave room for
classes of your own.

Pods of the system classes may be made only where a quota covers them (:mod:`components.render.admission`). The only
such quota is made here, in ``kube-system``; its bound is never reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pulumi import ComponentResource, ResourceOptions
from pulumi_kubernetes.core.v1 import ResourceQuota
from pulumi_kubernetes.scheduling.v1 import PriorityClass

from components.objects.object_metadata import meta
from components.render.admission import SYSTEM_PRIORITIES
from contract.object_names import SYSTEM_NAMESPACE

if TYPE_CHECKING:
    from pulumi_kubernetes.core.v1 import ScopedResourceSelectorRequirementArgsDict

PART = "priorities"
QUOTA = "longhaul-system-priorities"


@dataclass(frozen=True, kw_only=True)
class Priority:
    """A priority class."""

    name: str
    value: int
    why: str
    preempts: bool = True
    """True when its pods may evict pods of lower priority. Otherwise its pods wait, but are scheduled before pods of
    lower priority."""

    @property
    def policy(self) -> Literal["PreemptLowerPriority", "Never"]:
        """Return the preemption policy in Kubernetes' words."""
        return "PreemptLowerPriority" if self.preempts else "Never"


SYSTEM = Priority(
    name="longhaul-system",
    value=1_000_000,
    why="What the cluster's users depend on but DNS and nodes do not: exporters, health checks, queues.",
)
TRAINING_HIGH = Priority(
    name="longhaul-training-high",
    value=100_000,
    why="Training that may push out other training, on its own team's word.",
)
TRAINING = Priority(
    name="longhaul-training",
    value=10_000,
    why="Training on capacity that its team owns; pushes out what was only borrowed.",
)
BORROWED = Priority(
    name="longhaul-training-borrow",
    # Below pods without a class: borrowed capacity goes back to any pod that requests it.
    value=-1_000,
    preempts=False,
    why="Training on any capacity that is free, until somebody wants it.",
)
BALLOON = Priority(
    name="longhaul-balloon",
    # Below everything, even borrowed training, so that any pod gets the room that a balloon reserves.
    value=-1_000_000,
    preempts=False,
    why="Pods that do nothing but keep a few nodes warm.",
)
CLASSES = (SYSTEM, TRAINING_HIGH, TRAINING, BORROWED, BALLOON)
TRAINING_CLASSES = (TRAINING_HIGH, TRAINING, BORROWED)
"""Classes of pods whose state is worth keeping."""


class PriorityClasses(ComponentResource):
    """All priority classes, and the quota for the system's classes."""

    def __init__(self, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:objects:PriorityClasses", name, None, opts)
        scope: ScopedResourceSelectorRequirementArgsDict = {
            "scope_name": "PriorityClass",
            "operator": "In",
            "values": SYSTEM_PRIORITIES,
        }
        ResourceQuota(
            QUOTA,
            metadata=meta(QUOTA, part=PART, namespace=SYSTEM_NAMESPACE),
            spec={"hard": {"pods": "1G"}, "scope_selector": {"match_expressions": [scope]}},
            opts=ResourceOptions(parent=self),
        )
        for priority in CLASSES:
            PriorityClass(
                priority.name,
                metadata=meta(priority.name, part=PART),
                value=priority.value,
                preemption_policy=priority.policy,
                description=priority.why,
                # A class cannot be changed, only replaced; pods keep the number with which they were made.
                opts=ResourceOptions(
                    parent=self, replace_on_changes=["value", "preemptionPolicy"], delete_before_replace=True
                ),
            )
        self.register_outputs({})
