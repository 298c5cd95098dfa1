"""Finds work on a node, and drains nodes: a node is cordoned, then each pod is evicted through the Eviction API, which
obeys disruption budgets. It is used for everything that takes nodes out of service, in clouds and racks."""

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
"""Time after which overdue pods no longer keep a machine whose node does not answer: nothing on it can end them, and
the controllers that recreate them wait until they are gone."""

BUDGET = "poddisruptionbudget"
"""Kind in the details of a refusal (kubernetes 1.36, ``pkg/registry/core/pod/storage/eviction.go``)."""


@dataclass(frozen=True, kw_only=True)
class DrainPod:
    """The properties of a pod that matter for a drain."""

    namespace: str
    name: str
    uid: str
    stays: bool
    """True when it has no part in a drain: it belongs to a daemon set, is a static pod, or has ended."""
    work: bool
    """True when something would be lost if it ended."""
    leaving: bool
    """True when it is already being ended."""
    ends_at: datetime | None = None
    """Time at which it should be gone, including its grace period; only when it is being ended."""
    checkpointed_at: datetime | None = None
    """Time of its last announced checkpoint."""

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
    """Return every pod of a node. The API servers keep an index for this query (k8s.io/kubernetes,
    pkg/registry/core/pod/strategy.go, ``NodeNameTriggerFunc``): its cost depends on the node's pods, not the
    cluster's."""
    return [pod_of(item) for item in api.items(PODS, fieldSelector=f"spec.nodeName={node}")]


def work_on(pods: Iterable[DrainPod]) -> list[DrainPod]:
    """Return the pods that would lose work if they ended."""
    return [pod for pod in pods if pod.work]


def cordon(api: Api, node: Object, *, annotations: Mapping[str, str]) -> bool:
    """Keep further pods off a node, and annotate it with the reason. Return False when the node has changed since
    ``node`` was read, or no longer exists: read it again, since somebody else may have cordoned it."""
    return _change(api, node, unschedulable=True, annotations=annotations)


def uncordon(api: Api, node: Object, *, annotations: Iterable[str]) -> bool:
    """Remove a cordon and its annotations. Return False as :func:`cordon` does."""
    return _change(api, node, unschedulable=None, annotations=dict.fromkeys(annotations))


def annotate(api: Api, node: Object, annotations: Mapping[str, str | None]) -> bool:
    """Write annotations on a node; remove those that are None. Return False as :func:`cordon` does."""
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
    """Ask one pod to leave, with its own grace period. Return why it may not leave yet; empty when it leaves or no
    longer exists."""
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
    """Make one step of a drain: evict every pod that is not leaving yet. Return the remaining pods, each with the
    reason why it may not leave. Call it again with the current pods until it returns nothing."""
    there = [pod for pod in pods if not pod.stays]
    return {pod: "" if pod.leaving else evict(api, pod) for pod in there}


def drain_line(left: Mapping[DrainPod, str]) -> str:
    """Return the remaining pods of a drain in one line."""
    return "; ".join(f"{pod}: {reason}" if reason else f"{pod} is ending" for pod, reason in left.items())
