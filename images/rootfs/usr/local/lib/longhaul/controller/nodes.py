"""Removing a Node whose machine is gone: its pods are let go first."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from controller.api import METADATA_LIST, Api, ApiError, Object
from controller.cluster import NODES
from controller.events import Events
from controller.lifecycle import NodeSeen
from controller.metrics import Metrics
from controller.request import moment
from controller.watch import Watch, quoted

log = logging.getLogger(__name__)

SITE = "longhaul.dev/site"

TAINT = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
"""The machine is off for good: pods are evicted at once, also those that tolerate an unreachable node, and volumes are
detached (kubernetes.io, "Non-graceful node shutdown handling")."""

EVICTION_S = 30.0
"""The Node stays at most so long for its pods to be marked: were it deleted with the taint hardly there, they would be
found only by the garbage collector, after a minute (k8s.io/kubernetes/pkg/controller/podgc, ``quarantineTime``)."""


def seen(watch: Watch) -> Iterator[NodeSeen]:
    """Every Node with its site."""
    for name, document in watch.held().items():
        yield NodeSeen(name=name, site=document["metadata"].get("labels", {}).get(SITE, ""))


class Remover:
    """Takes one Node a step further with each call."""

    def __init__(self, api: Api, *, events: Events, metrics: Metrics, wall: Callable[[], float] = time.time) -> None:
        self._api, self._events, self._metrics, self._wall = api, events, metrics, wall

    def remove(self, name: str, reason: str) -> None:
        """Taint it, or delete it when its pods are being moved. ``ApiError`` is for the caller: it comes again."""
        node = self._api.find(f"{NODES}/{quoted(name)}")
        if node is None:
            return
        since = _tainted(node)
        if since is None:
            self._taint(node, reason)
        elif self._wall() - since > EVICTION_S or not self._has_pods(name):
            self._delete(node, reason)

    def _taint(self, node: Object, reason: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata = node["metadata"]
        taints = [*node["spec"].get("taints", []), {**TAINT, "timeAdded": now}]
        # With the version that was read: taints are one list, and others write to it too.
        changed = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": {"taints": taints}}
        self._api.patch(f"{NODES}/{quoted(metadata['name'])}", changed)
        self._events.say(_reference(node), reason="MachineGone", message=f"out of service: {reason}", warning=True)

    def _delete(self, node: Object, reason: str) -> None:
        metadata = node["metadata"]
        if self._api.delete(f"{NODES}/{quoted(metadata['name'])}", uid=metadata["uid"]):
            self._metrics.count("nodes_removed")
            self._events.say(_reference(node), reason="NodeRemoved", message=f"deleted: {reason}")

    def _has_pods(self, name: str) -> bool:
        """Whether a pod on it is neither over nor being deleted."""
        selector = f"spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed"
        try:
            pages = self._api.pages("/api/v1/pods", accept=METADATA_LIST, fieldSelector=selector)
            found = [pod["metadata"] for page in pages for pod in page.get("items") or []]
        except ApiError as error:
            log.warning("pods of %s: %s", name, error)
            return True
        return any("deletionTimestamp" not in metadata for metadata in found)


def _tainted(node: Object) -> float | None:
    """Since when it is out of service, or None."""
    for taint in node["spec"].get("taints", []):
        if taint["key"] == TAINT["key"] and taint["effect"] == TAINT["effect"]:
            return moment(taint["timeAdded"]) if taint.get("timeAdded") else 0.0
    return None


def _reference(node: Object) -> Object:
    """A Node as its Events name it: by its name in the place of a UID, as kubelets do and `kubectl describe` looks."""
    name = node["metadata"]["name"]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
