"""Nominations: nodes on which the scheduler makes room for waiting pods. It clears a nomination only when it tries the
pod again, and never the nomination of a pod that may not preempt. So each is compared with what is on the node
(kubernetes 1.36, ``defaultpreemption``, ``PodEligibleToPreemptOthers``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contract.kubernetes.quantities import Resources
from services.autoscaler.cluster_snapshot import ClusterNode, CordonOrigin, PendingPod
from services.autoscaler.pod_shapes import PODS, VOLUMES_OF
from services.autoscaler.scheduling_rules import mismatch
from services.pod_requests import bound_requests

Object = Mapping[str, Any]


def nominated_node(item: Object) -> str:
    """Return the node on which the scheduler makes room for a pod; empty when there is none. A pod that may not preempt
    displaces no pod, so it is placed like any other."""
    may_preempt = item["spec"].get("preemptionPolicy") != "Never"
    return str(item.get("status", {}).get("nominatedNodeName") or "") if may_preempt else ""


def valid_nominations(
    pods: Sequence[PendingPod], nodes: Iterable[ClusterNode], on: Mapping[str, Sequence[Object]]
) -> tuple[PendingPod, ...]:
    """Return the waiting pods, without nominations that do not hold. ``on`` are the pods on each node."""
    names = {pod.nominated for pod in pods if pod.nominated}
    if not names:
        return tuple(pods)
    known = {node.name: node for node in nodes if node.name in names}
    taken: dict[str, list[Resources]] = {}
    dropped: set[str] = set()
    for pod in sorted((pod for pod in pods if pod.nominated), key=lambda pod: (-pod.priority, pod.id)):
        node, others = known.get(pod.nominated), taken.setdefault(pod.nominated, [])
        if node and _may_be(pod, node) and _has_room(pod, node, on.get(node.name, ()), others):
            others.append(dict(pod.shape.requests))
        else:
            dropped.add(pod.id)
    return tuple(replace(pod, nominated="") if pod.id in dropped else pod for pod in pods)


def _may_be(pod: PendingPod, node: ClusterNode) -> bool:
    """Return whether a node takes pods and its labels and taints allow one."""
    return node.cordon is not CordonOrigin.OTHERS and not mismatch(pod.shape.where, node.kind, node.name)


def _has_room(pod: PendingPod, node: ClusterNode, there: Iterable[Object], nominated: Iterable[Resources]) -> bool:
    """Return whether a node has room for a pod once the pods are gone that it displaces: those that are being ended,
    and those of a lower priority. Volumes are left out, since several pods may share one."""
    used = dict.fromkeys((name for name, _ in pod.shape.requests), 0)
    staying = (
        {**bound_requests(item), PODS: 1}
        for item in there
        if "deletionTimestamp" not in item["metadata"] and int(item["spec"].get("priority") or 0) >= pod.priority
    )
    for requests in (*staying, *nominated):
        for name in used:
            used[name] += requests.get(name, 0)
    return all(
        amount + used[name] <= node.allocatable.get(name, 0)
        for name, amount in pod.shape.requests
        if not name.startswith(VOLUMES_OF)
    )
