"""The pods on a node: what they use, which of them may move, and which disruption budgets keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from components.model.autoscaler.section import JOIN_MINUTES
from contract.kubernetes.drain import OVERDUE, DrainPod, pod_of
from contract.kubernetes.quantities import Resources
from contract.kubernetes.readiness import is_ready
from services.autoscaler.cluster_snapshot import LabelPairs, MovablePod
from services.autoscaler.node_terms import label_requirements
from services.autoscaler.pod_objects import TOO_MANY_APART, Object, ShapeParser, lasting_containers
from services.autoscaler.pod_shapes import PODS, AntiAffinity, SelectorRequirement
from services.autoscaler.scheduling_rules import is_fulfilled
from services.autoscaler.volume_counts import VolumeId, volume_counts
from services.pod_requests import bound_requests

ENDS_SOON = timedelta(minutes=JOIN_MINUTES)
"""Longest rest of a grace period for which other pods wait. A machine may take as long to become a node, and most pods
end sooner."""


@dataclass(frozen=True, kw_only=True)
class DisruptionBudget:
    """A disruption budget, as the Eviction API reads it (kubernetes 1.36,
    ``pkg/registry/core/pod/storage/eviction.go``)."""

    namespace: str
    name: str
    selector: tuple[SelectorRequirement, ...]
    allows: bool = False
    """True when a ready pod may leave now."""
    allows_unready: bool = False
    """True when a pod that is not ready may leave all the same."""


class NodeLoad:
    """The sum of the pods on one node."""

    def __init__(
        self, shapes: ShapeParser, budgets: Sequence[DisruptionBudget], now: datetime, *, answers: bool
    ) -> None:
        self._shapes, self._budgets, self._now, self._answers = shapes, budgets, now, answers
        self.used: Resources = {}
        self.volumes: list[VolumeId] = []
        self._shared: set[VolumeId] = set()
        self.work = self.leaving = 0
        self.crowded = False
        """True when a pod has more anti-affinities than are supported. Nothing is placed beside such a pod."""
        self.moving: list[MovablePod] = []
        self.identities: list[tuple[str, LabelPairs]] = []
        self.ended: list[tuple[str, LabelPairs]] = []
        self.ending: list[str] = []
        """Ids of pods that are being ended and will soon be gone."""
        self.apart: list[AntiAffinity] = []
        self.wide: list[AntiAffinity] = []
        self.ports: list[str] = []

    def room(self, has: Resources, attached: Sequence[VolumeId]) -> dict[str, Any]:
        """Return the fields of a node that has some amounts and these pods. Volumes for which it has a limit count, in
        use or only attached; one that several pods use counts once."""
        counts = volume_counts((*self.volumes, *attached))
        used = {**self.used, PODS: len(self.identities), **{name: counts[name] for name in counts if name in has}}
        return {
            "free": {} if self.crowded else {name: amount - used.get(name, 0) for name, amount in has.items()},
            "identities": tuple(self.identities),
            "ended": tuple(self.ended),
            "apart": tuple(dict.fromkeys(self.apart)),
            "ports": frozenset(self.ports),
            "volumes": frozenset(self._shared),
        }

    def add(self, item: Object) -> None:
        """Add one pod."""
        if item["spec"].get("volumes"):
            claimed = [*self._shapes.claims.of_pod(item)]
            self.volumes += [volume.counted for volume in claimed if volume.counted]
            self._shared |= {volume.counted for volume in claimed if volume.counted and volume.shared}
        pod = pod_of(item)
        for name, amount in bound_requests(item).items():
            self.used[name] = self.used.get(name, 0) + amount
        labels = tuple(sorted((item["metadata"].get("labels") or {}).items()))
        self.identities.append((pod.namespace, labels))
        if "deletionTimestamp" in item["metadata"]:
            self.ended.append((pod.namespace, labels))
        if not _is_plain(item["spec"]):
            shape = self._shapes.parse(item)
            self.apart += shape.apart
            self.wide += shape.wide
            self.ports += shape.ports
            self.crowded |= any(obstacle.message == TOO_MANY_APART for obstacle in shape.unknown)
        if pod.stays:
            return
        if pod.leaving:
            if pod.ends_at and -OVERDUE <= pod.ends_at - self._now <= ENDS_SOON:
                self.ending.append(pod.uid)
            self.leaving += self._answers or pod.ends_at is None or self._now - pod.ends_at <= OVERDUE
        elif pod.work:
            self.work += 1
        else:
            blocked = _block_reason(item, pod, dict(labels), self._budgets)
            shape = self._shapes.parse(item, waits=True)
            self.moving.append(
                MovablePod(namespace=pod.namespace, name=pod.name, shape=shape, labels=labels, block_reason=blocked)
            )


def _is_plain(spec: Object) -> bool:
    """Return whether a running pod keeps others off its node only by its requests."""
    if "podAntiAffinity" in (spec.get("affinity") or {}):
        return False
    return not any(port.get("hostPort") for item in lasting_containers(spec) for port in item.get("ports") or ())


def _block_reason(item: Object, pod: DrainPod, labels: Mapping[str, str], budgets: Sequence[DisruptionBudget]) -> str:
    if (item.get("status") or {}).get("phase") == "Pending":
        return ""
    matches = [
        budget
        for budget in budgets
        if budget.namespace == pod.namespace
        and all(is_fulfilled(requirement, labels) for requirement in budget.selector)
    ]
    if len(matches) > 1:
        names = " and ".join(sorted(budget.name for budget in matches))
        return f"disruption budgets {names} select it, and pods with several are never evicted"
    for budget in matches:
        if not (budget.allows or (budget.allows_unready and not is_ready(item))):
            return f"disruption budget {budget.name} allows none"
    return ""


def budget_of(item: Object) -> DisruptionBudget | None:
    """Return a disruption budget; None when it selects no pods."""
    spec, status, metadata = item["spec"], item.get("status") or {}, item["metadata"]
    selector = spec.get("selector")
    if selector is None:
        return None
    current = status.get("observedGeneration", 0) >= metadata.get("generation", 0)
    enough = status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0
    return DisruptionBudget(
        namespace=metadata["namespace"],
        name=metadata["name"],
        selector=label_requirements(selector),
        allows=current and status.get("disruptionsAllowed", 0) > 0,
        allows_unready=enough or spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow",
    )
