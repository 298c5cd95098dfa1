"""Node objects of the API, with the pods on them, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from components.model.nodes.host_nodes import HOSTS
from contract.annotations import KEEP, ROLL, SCALE_IN
from contract.kubernetes.drain import OVERDUE, DrainPod, pod_of
from contract.kubernetes.quantities import whole
from contract.kubernetes.readiness import is_ready, ready_condition
from contract.kubernetes.times import parse_time
from contract.labels import HOSTNAME_LABEL, HOSTS_POOL_LABEL, INTERRUPTED, POOL_LABEL
from contract.taints import CORDON, QUARANTINE_TAINT, STARTING
from services.autoscaler.cluster_snapshot import ClusterNode, CordonOrigin, LabelPairs, MovablePod, NodeHealth
from services.autoscaler.node_terms import label_requirements
from services.autoscaler.pod_objects import (
    TOO_MANY_APART,
    Object,
    ShapeParser,
    lasting_containers,
)
from services.autoscaler.pod_requests import bound_requests
from services.autoscaler.pod_shapes import (
    DECLARES,
    PODS,
    AntiAffinity,
    NodeKind,
    Resources,
    SchedulingTaint,
    SelectorRequirement,
)
from services.autoscaler.scheduling_rules import is_fulfilled
from services.autoscaler.volume_counts import VolumeId, volume_counts

PRESSURE = tuple(f"node.kubernetes.io/{what}-pressure" for what in ("disk", "memory", "pid"))
"""Taints of nodes that are temporarily full, but neither starting nor dead."""


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


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """Facts about a node's machine from its group."""

    group: str
    machine: str
    keep: str = ""
    leaving: bool = False
    counted: bool = True


class NodeParser:
    """Parser of Node objects. Equal kinds of nodes share one object."""

    def __init__(
        self,
        shapes: ShapeParser,
        *,
        budgets: Sequence[DisruptionBudget],
        machines: Mapping[str, MachineFacts],
        taints: Mapping[str, frozenset[tuple[str, str]]],
        now: datetime,
        startup: Mapping[str, frozenset[tuple[str, str]]] | None = None,
        limits: Mapping[str, Mapping[str, int]] | None = None,
        attached: Mapping[str, Sequence[VolumeId]] | None = None,
    ) -> None:
        """``machines`` are the groups' machines by node name; ``taints`` are key and effect of the taints that a pool's
        nodes always have, by the pool's name on nodes; ``startup`` are startup taints in the same form; ``limits`` are
        the numbers of volumes that nodes allow; ``attached`` are the volumes attached to nodes."""
        self._shapes, self._budgets, self._machines, self._taints, self._now = shapes, budgets, machines, taints, now
        self._startup, self._limits, self._attached = startup or {}, limits or {}, attached or {}
        self._kinds: dict[NodeKind, NodeKind] = {}

    def parse(self, item: Object, pods: Iterable[Object]) -> ClusterNode:
        """Return a node with the sum of its pods, without pods that have ended."""
        metadata = item["metadata"]
        labels = dict(metadata.get("labels") or {})
        name = metadata["name"]
        labels |= {DECLARES + feature: "" for feature in item["status"].get("declaredFeatures") or ()}
        pool = labels.get(POOL_LABEL, "")
        usual = self._taints.get(pool, frozenset())
        taints = item["spec"].get("taints") or ()
        startup = self._startup.get(pool, frozenset())
        starting = [
            taint
            for taint in taints
            if (_is_starting(taint) or (taint["key"], taint["effect"]) in startup)
            and (taint["key"], taint["effect"]) not in usual
        ]
        has = {name: whole(name, text) for name, text in (item["status"].get("allocatable") or {}).items()}
        has |= self._limits.get(name, {})
        health, since = self._health(item, starting)
        known = self._machines.get(name, MachineFacts(group="", machine=""))
        load = _Load(self._shapes, self._budgets, self._now, answers=is_ready(item))
        for pod in pods:
            load.add(pod)
        load.used[PODS] = len(load.identities)
        load.add_volumes(has, self._attached.get(name, ()))
        annotations = metadata.get("annotations") or {}
        cordoned_at = parse_time(annotations.get(SCALE_IN, ""))
        return ClusterNode(
            name=name,
            kind=self._kind(
                name, labels, [taint for taint in taints if taint not in starting and taint["key"] != CORDON]
            ),
            free={} if load.crowded else {name: amount - load.used.get(name, 0) for name, amount in has.items()},
            allocatable=has,
            pool=HOSTS if pool == HOSTS_POOL_LABEL else pool,
            group=known.group,
            machine=known.machine,
            counted=known.counted and not known.leaving,
            health=NodeHealth.ENDING if known.leaving else health,
            since=since,
            made=parse_time(metadata.get("creationTimestamp", "")),
            cordon=_cordon(item, annotations),
            cordoned_at=cordoned_at,
            keep=known.keep or _keep(annotations, taints),
            work=load.work,
            leaving=load.leaving,
            moving=tuple(load.moving),
            identities=tuple(load.identities),
            ended=tuple(load.ended),
            apart=tuple(dict.fromkeys(load.apart)),
            wide=tuple(dict.fromkeys(load.wide)),
            ports=frozenset(load.ports),
        )

    def _kind(self, name: str, labels: Mapping[str, str], taints: Iterable[Object]) -> NodeKind:
        pairs = tuple(sorted((key, value) for key, value in labels.items() if key != HOSTNAME_LABEL or value != name))
        kept = tuple(
            sorted({SchedulingTaint(taint["key"], str(taint.get("value") or ""), taint["effect"]) for taint in taints})
        )
        kind = NodeKind(pairs, kept)
        return self._kinds.setdefault(kind, kind)

    def _health(self, item: Object, starting: Sequence[Object]) -> tuple[NodeHealth, datetime | None]:
        made = parse_time(item["metadata"].get("creationTimestamp", ""))
        keys = {taint["key"] for taint in item["spec"].get("taints") or ()}
        if INTERRUPTED in keys:
            return NodeHealth.ENDING, None
        ready = ready_condition(item)
        since = ready.since or made
        if ready.is_true:
            return (NodeHealth.STARTING, _tainted_since(starting)) if starting else (NodeHealth.READY, since)
        # A node that was never ready reports this since its registration.
        never = made is None or since is None or since - made < timedelta(seconds=1)
        return (NodeHealth.STARTING, made) if never else (NodeHealth.SILENT, since)


class _Load:
    """The sum of the pods on one node."""

    def __init__(
        self, shapes: ShapeParser, budgets: Sequence[DisruptionBudget], now: datetime, *, answers: bool
    ) -> None:
        self._shapes, self._budgets, self._now, self._answers = shapes, budgets, now, answers
        self.used: Resources = {}
        self._volumes: list[VolumeId] = []
        self.work = self.leaving = 0
        self.crowded = False
        """True when a pod has more anti-affinities than are supported. Nothing is placed beside such a pod."""
        self.moving: list[MovablePod] = []
        self.identities: list[tuple[str, LabelPairs]] = []
        self.ended: list[tuple[str, LabelPairs]] = []
        self.apart: list[AntiAffinity] = []
        self.wide: list[AntiAffinity] = []
        self.ports: list[str] = []

    def add_volumes(self, has: Resources, attached: Sequence[VolumeId]) -> None:
        """Count volumes, in use or only attached, of which the node limits the number. A volume that several pods use
        counts once."""
        for name, count in volume_counts((*self._volumes, *attached)).items():
            if name in has:
                self.used[name] = count

    def add(self, item: Object) -> None:
        """Add one pod."""
        if item["spec"].get("volumes"):
            self._volumes += [volume.counted for volume in self._shapes.claims.of_pod(item) if volume.counted]
        pod = pod_of(item)
        for name, amount in bound_requests(item).items():
            self.used[name] = self.used.get(name, 0) + amount
        labels = tuple(sorted((item["metadata"].get("labels") or {}).items()))
        self.identities.append((pod.namespace, labels))
        if "deletionTimestamp" in item["metadata"]:
            self.ended.append((pod.namespace, labels))
        if _is_plain(item["spec"]):
            shape = None
        else:
            shape = self._shapes.parse(item)
            self.apart += shape.apart
            self.wide += shape.wide
            self.ports += shape.ports
            self.crowded |= any(obstacle.message == TOO_MANY_APART for obstacle in shape.unknown)
        if pod.stays:
            return
        if pod.leaving:
            self.leaving += self._answers or pod.ends_at is None or self._now - pod.ends_at <= OVERDUE
        elif pod.work:
            self.work += 1
        else:
            blocked = _block_reason(item, pod, dict(labels), self._budgets)
            shape = shape or self._shapes.parse(item)
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


def _tainted_since(taints: Iterable[Mapping[str, Any]]) -> datetime | None:
    """Return the earliest time at which one of the taints was added; None when the time of any of them is unknown. API
    servers never set this time, and controllers set it only for taints that end pods (k8s.io/api/core/v1,
    ``Taint.TimeAdded``)."""
    times = [parse_time(str(taint.get("timeAdded") or "")) for taint in taints]
    known = [time for time in times if time]
    return min(known) if len(known) == len(times) else None


def _is_starting(taint: Mapping[str, Any]) -> bool:
    return str(taint["key"]).startswith(STARTING) and taint["key"] not in (CORDON, QUARANTINE_TAINT["key"], *PRESSURE)


def _cordon(item: Object, annotations: Mapping[str, str]) -> CordonOrigin:
    if not item["spec"].get("unschedulable"):
        return CordonOrigin.NONE
    ours = SCALE_IN in annotations and ROLL not in annotations
    return CordonOrigin.OURS if ours else CordonOrigin.OTHERS


def _keep(annotations: Mapping[str, str], taints: Iterable[Mapping[str, Any]]) -> str:
    if annotations.get(KEEP, "false") != "false":
        return KEEP
    if ROLL in annotations:
        return "a roll is replacing it"
    return "it is in quarantine" if any(taint["key"] == QUARANTINE_TAINT["key"] for taint in taints) else ""


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
