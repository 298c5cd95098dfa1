"""What counts as work on a node, and how a node is emptied: cordoned, then each pod asked to leave by the Eviction API,
which keeps to disruption budgets. For whatever takes nodes out of service: cloud pools and racks alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from longhaul.kubernetes.api import Api, moment, path_of
from longhaul.kubernetes.connection import ApiError, Object

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"

CHECKPOINT = "longhaul.dev/checkpointed-at"
"""Annotation by which a pod announces that it has written down all that it would need to go on elsewhere: when it did,
RFC 3339."""
DISPOSABLE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Annotation, ``true``, of a pod that may be moved whenever it suits: the cluster autoscaler's own
(github.com/kubernetes/autoscaler, cluster-autoscaler/FAQ.md, "What types of pods can prevent CA from removing a
node?"), so that pods need not say it twice."""
SYSTEM = "kube-system"
"""What runs here is the cluster's own, and made to move."""

MIRROR = "kubernetes.io/config.mirror"
"""Annotation of a static pod's image in the API (k8s.io/api/core/v1, ``MirrorPodAnnotationKey``)."""
OVER = ("Succeeded", "Failed")

LOOK_S = 5.0
"""How often a node that is being drained is looked at, besides whenever a pod on it changes, seconds."""


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A pod as far as emptying its node is concerned."""

    namespace: str
    name: str
    uid: str
    stays: bool
    """Whether it has no part in a drain: a daemon set's, a static pod's, or over."""
    work: bool
    """Whether somebody would lose something if it were ended."""
    leaving: bool
    """Whether it is being ended already."""
    ends_at: datetime | None = None
    """When it should be gone then, its grace period included."""
    checkpointed_at: datetime | None = None
    """When it last announced a checkpoint."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class DrainError(Exception):
    """A node was not empty in time; the message says which pods are left and why."""


def pod_of(item: Mapping[str, Any]) -> Pod:
    """One Pod object. Work is what is left when these are taken away: pods of daemon sets, static pods, pods that are
    over or being ended, the cluster's own that a controller makes anew, and those that say they are disposable."""
    metadata = item["metadata"]
    annotations = metadata.get("annotations") or {}
    owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    over = item.get("status", {}).get("phase") in OVER
    stays = over or MIRROR in annotations or (owner is not None and owner["kind"] == "DaemonSet")
    leaving = "deletionTimestamp" in metadata
    system = "true" if metadata["namespace"] == SYSTEM and owner is not None else ""
    moves = annotations.get(DISPOSABLE, system) == "true"
    return Pod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        stays=stays,
        work=not (stays or leaving or moves),
        leaving=leaving,
        ends_at=moment(metadata.get("deletionTimestamp", "")),
        checkpointed_at=moment(annotations.get(CHECKPOINT, "")),
    )


def pods_on(api: Api, node: str) -> list[Pod]:
    """Every pod of a node. The API servers keep an index for this question (k8s.io/kubernetes,
    pkg/registry/core/pod/strategy.go, ``NodeNameTriggerFunc``): it costs a node's pods, not the cluster's."""
    return [pod_of(item) for item in api.items(PODS, fieldSelector=f"spec.nodeName={node}")]


def work_on(pods: Iterable[Pod]) -> list[Pod]:
    """Those that would lose something."""
    return [pod for pod in pods if pod.work]


def cordon(api: Api, node: Object, *, annotations: Mapping[str, str]) -> bool:
    """Let no further pod onto a node, and note on it why. False when the node was changed since ``node`` was read: it
    has to be looked at again, since somebody else may have cordoned it."""
    return _change(api, node, unschedulable=True, annotations=annotations)


def uncordon(api: Api, node: Object, *, annotations: Iterable[str]) -> bool:
    """Take a cordon back, and the notes; False as in :func:`cordon`."""
    return _change(api, node, unschedulable=None, annotations=dict.fromkeys(annotations))


def annotate(api: Api, node: Object, annotations: Mapping[str, str | None]) -> bool:
    """Write notes on a node, or take them away; False as in :func:`cordon`."""
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


def evict(api: Api, pod: Pod, *, grace_s: int | None = None) -> str:
    """Ask one pod to leave, with its own grace period or ``grace_s`` seconds. Why it may not yet; empty when it leaves,
    or is gone."""
    options: Object = {"preconditions": {"uid": pod.uid}}
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    metadata = {"name": pod.name, "namespace": pod.namespace}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
    try:
        api.post(path_of("api", "v1", "namespaces", pod.namespace, "pods", pod.name, "eviction"), body)
    except ApiError as error:
        # 404: it is gone. 409: another of its name is there, or the budget was just changed. 429: the budget says no.
        if error.status == 404:
            return ""
        if error.status not in (409, 429):
            raise
        return str(error)
    return ""


def let_go(api: Api, pods: Iterable[Pod], *, grace_s: int | None = None) -> dict[Pod, str]:
    """One step of a drain: ask everything to leave that was not asked yet. What is still there, with the reason of
    whatever may not leave; call it again with what is seen then, until it returns nothing."""
    there = [pod for pod in pods if not pod.stays]
    return {pod: "" if pod.leaving else evict(api, pod, grace_s=grace_s) for pod in there}


def drain(
    api: Api,
    node: str,
    *,
    limit_s: float,
    grace_s: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Empty a node that is cordoned, and return when nothing is left on it but what stays. It takes work like anything
    else: ask :func:`work_on` first. ``DrainError`` after ``limit_s`` seconds."""
    until = clock() + limit_s
    while True:
        selector = f"spec.nodeName={node}"
        listed = api.get(PODS, fieldSelector=selector)
        left = let_go(api, [pod_of(item) for item in listed.get("items") or []], grace_s=grace_s)
        if not left:
            return
        remaining = until - clock()
        if remaining <= 0:
            raise DrainError(f"{node} is not empty after {limit_s:.0f} s: {told(left)}")
        version = listed["metadata"]["resourceVersion"]
        wait_s = min(LOOK_S, remaining)
        api.await_change(PODS, version=version, limit_s=wait_s, fieldSelector=selector)


def told(left: Mapping[Pod, str]) -> str:
    """What is left of a drain, in a line."""
    return "; ".join(f"{pod}: {reason}" if reason else f"{pod} is ending" for pod, reason in left.items())
