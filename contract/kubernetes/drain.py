"""Work on nodes, and the drain of nodes: a node is cordoned, then each pod is evicted through the Eviction API, which
obeys disruption budgets. Everything that takes nodes out of service, in clouds and racks, drains them with this
module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from contract.annotations import CHECKPOINT, DISPOSABLE, MIRROR
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.paths import NODES, PODS
from contract.kubernetes.times import parse_time
from contract.object_names import SYSTEM_NAMESPACE

OVER = ("Succeeded", "Failed")

OVERDUE = timedelta(minutes=1)
"""Longest time after a pod's due end for which the pod keeps a machine whose node does not answer. Such a node cannot
end its pods, and the controllers that recreate the pods wait until they are gone."""

BUDGET = "poddisruptionbudget"
"""``kind`` in the details of an eviction's refusal by a budget (kubernetes 1.36,
``pkg/registry/core/pod/storage/eviction.go``)."""


@dataclass(frozen=True, kw_only=True)
class DrainPod:
    """The properties of a pod that matter for a drain."""

    namespace: str
    name: str
    uid: str
    stays: bool
    """True if a drain leaves the pod on the node: the pod belongs to a daemon set, is a static pod, or has ended."""
    work: bool
    """True if the pod's end would lose work."""
    leaving: bool
    """True if the pod is already being ended."""
    ends_at: datetime | None = None
    """Time at which a pod that is being ended should be gone, including its grace period; otherwise None."""
    checkpointed_at: datetime | None = None
    """Time of the last checkpoint that the pod announced."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def pod_of(item: Mapping[str, Any]) -> DrainPod:
    """Convert a Pod object. Every pod is work except pods of daemon sets, static pods, pods that have ended or are
    being ended, pods of the cluster itself that a controller recreates, and pods that declare themselves disposable."""
    metadata = item["metadata"]
    annotations = metadata.get("annotations") or {}
    owner = next(
        (
            owner_reference
            for owner_reference in metadata.get("ownerReferences") or ()
            if owner_reference.get("controller")
        ),
        None,
    )
    over = item.get("status", {}).get("phase") in OVER
    stays = over or MIRROR in annotations or (owner is not None and owner["kind"] == "DaemonSet")
    leaving = "deletionTimestamp" in metadata
    system = "true" if metadata["namespace"] == SYSTEM_NAMESPACE and owner is not None else ""
    moves = annotations.get(DISPOSABLE, system) == "true"
    return DrainPod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        stays=stays,
        work=not (stays or leaving or moves),
        leaving=leaving,
        ends_at=parse_time(metadata.get("deletionTimestamp", "")),
        checkpointed_at=parse_time(annotations.get(CHECKPOINT, "")),
    )


def pods_on(api: Api, node: str) -> list[DrainPod]:
    """Return every pod of a node. The API servers have an index for this query (k8s.io/kubernetes,
    pkg/registry/core/pod/strategy.go, ``NodeNameTriggerFunc``), so its cost depends on the number of pods on the node,
    not in the cluster."""
    return [pod_of(item) for item in api.items(PODS, fieldSelector=f"spec.nodeName={node}")]


def work_on(pods: Iterable[DrainPod]) -> list[DrainPod]:
    """Return the pods whose end would lose work."""
    return [pod for pod in pods if pod.work]


def cordon(api: Api, node: Object, *, annotations: Mapping[str, str]) -> bool:
    """Cordon a node and annotate it. Return False if the node no longer exists, or has changed since ``node`` was read.
    In that case read the node again, because somebody else may have cordoned it."""
    return _change(api, node, unschedulable=True, annotations=annotations)


def uncordon(api: Api, node: Object, *, annotations: Iterable[str]) -> bool:
    """Remove a cordon and the annotations. Return False as :func:`cordon` does."""
    return _change(api, node, unschedulable=None, annotations=dict.fromkeys(annotations))


def annotate(api: Api, node: Object, annotations: Mapping[str, str | None]) -> bool:
    """Write annotations on a node, and remove annotations whose value is None. Return False as :func:`cordon` does."""
    return _patch(api, node, {"metadata": {"annotations": dict(annotations)}})


def _change(api: Api, node: Object, *, unschedulable: bool | None, annotations: Mapping[str, str | None]) -> bool:
    body = {"spec": {"unschedulable": unschedulable}, "metadata": {"annotations": dict(annotations)}}
    return _patch(api, node, body)


def _patch(api: Api, node: Object, body: Object) -> bool:
    metadata = node["metadata"]
    body["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    try:
        api.patch(NODES + path_of(metadata["name"]), body)
    except ApiError as error:
        if error.status in (404, 409):
            return False
        raise
    return True


def evict(api: Api, pod: DrainPod) -> str:
    """Evict a pod with its own grace period. Return the reason why the pod may not be evicted yet; empty if the pod is
    being ended or no longer exists."""
    options: Object = {"preconditions": {"uid": pod.uid}}
    metadata = {"name": pod.name, "namespace": pod.namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
    try:
        api.post(path_of("api", "v1", "namespaces", pod.namespace, "pods", pod.name, "eviction"), body)
    except ApiError as error:
        # 404: it no longer exists. 409: another pod of its name exists, or the budget just changed. 429: the budget
        # forbids it. 500: two budgets select it, or a webhook fails. 403 of a budget: its numbers are not settled.
        if error.status == 404:
            return ""
        if error.status not in (409, 429, 500) and error.details.get("kind") != BUDGET:
            raise
        return str(error)
    return ""


def evict_all(api: Api, pods: Iterable[DrainPod]) -> dict[DrainPod, str]:
    """Make one step of a drain: evict every pod that is not being ended yet. Return the remaining pods, each with the
    reason why it may not be evicted, or an empty text. Repeat with the current pods until no pod remains."""
    there = [pod for pod in pods if not pod.stays]
    return {pod: "" if pod.leaving else evict(api, pod) for pod in there}


def drain_line(left: Mapping[DrainPod, str]) -> str:
    """Return the remaining pods of a drain in one line."""
    return "; ".join(f"{pod}: {reason}" if reason else f"{pod} is ending" for pod, reason in left.items())
