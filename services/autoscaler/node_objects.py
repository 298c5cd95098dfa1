"""Node objects of the API, with the pods on them, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from components.model.nodes.host_nodes import HOSTS
from contract.annotations import KEEP, ROLL, SCALE_IN
from contract.kubernetes.quantities import whole
from contract.kubernetes.readiness import is_ready, ready_condition
from contract.kubernetes.times import parse_time
from contract.labels import HOSTNAME_LABEL, HOSTS_POOL_LABEL, INTERRUPTED, POOL_LABEL
from contract.taints import CORDON, QUARANTINE_TAINT, STARTING
from services.autoscaler.cluster_snapshot import ClusterNode, CordonOrigin, NodeHealth
from services.autoscaler.node_load import DisruptionBudget, NodeLoad
from services.autoscaler.pod_objects import Object, ShapeParser
from services.autoscaler.pod_shapes import DECLARES, NodeKind, SchedulingTaint
from services.autoscaler.volume_counts import VolumeId

PRESSURE = tuple(f"node.kubernetes.io/{what}-pressure" for what in ("disk", "memory", "pid"))
"""Taints of nodes that are temporarily full, but neither starting nor dead."""


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

    def parse(self, item: Object, pods: Sequence[Object]) -> ClusterNode:
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
        attached = self._attached.get(name, ())
        load = self._load(item, pods)
        annotations = metadata.get("annotations") or {}
        cordoned_at = parse_time(annotations.get(SCALE_IN, ""))
        node = ClusterNode(
            name=name,
            kind=self._kind(
                name, labels, [taint for taint in taints if taint not in starting and taint["key"] != CORDON]
            ),
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
            wide=tuple(dict.fromkeys(load.wide)),
            **load.room(has, attached),
        )
        if not load.ending:
            return node
        gone = {*load.ending}
        later = self._load(item, (pod for pod in pods if pod["metadata"]["uid"] not in gone))
        left = [volume for volume in attached if volume not in load.volumes or volume in later.volumes]
        return replace(node, later=replace(node, **later.room(has, left)))

    def _load(self, item: Object, pods: Iterable[Object]) -> NodeLoad:
        load = NodeLoad(self._shapes, self._budgets, self._now, answers=is_ready(item))
        for pod in pods:
            load.add(pod)
        return load

    def _kind(self, name: str, labels: Mapping[str, str], taints: Iterable[Object]) -> NodeKind:
        pairs = tuple(sorted((key, value) for key, value in labels.items() if key != HOSTNAME_LABEL))
        host = labels.get(HOSTNAME_LABEL)
        kept = tuple(
            sorted({SchedulingTaint(taint["key"], str(taint.get("value") or ""), taint["effect"]) for taint in taints})
        )
        kind = NodeKind(pairs, kept, host="" if host == name else host)
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
