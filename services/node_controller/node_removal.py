"""Removal of Nodes whose machines no longer exist. The Node's pods are evicted first."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from contract.kubernetes.api import METADATA_LIST, Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.events import Events
from contract.kubernetes.paths import NODES
from contract.kubernetes.times import epoch_s
from contract.kubernetes.watch import Watch
from contract.labels import SITE_LABEL, UNCHECKED
from services.metrics import ServiceMetrics
from services.node_controller.lifecycle import NodeSeen
from services.node_controller.metrics import NODES_REMOVED

log = logging.getLogger(__name__)


TAINT = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
"""Taint of a Node whose machine is off for good. All pods are evicted at once, even pods that tolerate an unreachable
node, and volumes are detached (kubernetes.io, "Non-graceful node shutdown handling")."""

EVICTION_S = 30.0
"""Longest time in seconds for which a tainted Node stays, so that its pods can be marked for deletion. If the Node were
deleted right after the taint, only the garbage collector would find its pods, after a minute
(k8s.io/kubernetes/pkg/controller/podgc, ``quarantineTime``)."""


def registered_nodes(watch: Watch, *, listed: Callable[[str], str]) -> Iterator[NodeSeen]:
    """Yield every Node with its site. An unchecked Node may claim another site, whose list would never contain its
    machine. So the site of such a Node is the site whose list has the machine, which ``listed`` returns, or the claimed
    site if no list has it."""
    for name, document in watch.by_name().items():
        labels = document["metadata"].get("labels") or {}
        site = labels.get(SITE_LABEL, "")
        yield NodeSeen(name=name, site=listed(name) or site if UNCHECKED in labels else site)


class Remover:
    """Remover of Nodes, in several steps for each Node."""

    def __init__(
        self, api: Api, *, events: Events, metrics: ServiceMetrics, wall: Callable[[], float] = time.time
    ) -> None:
        self._api, self._events, self._metrics, self._wall = api, events, metrics, wall

    def remove(self, name: str, reason: str) -> None:
        """Make the next step of a Node's removal: taint the Node, or delete it once all of its pods are being deleted
        or :data:`EVICTION_S` has passed. Raise ``ApiError`` if the step fails."""
        node = self._api.find(NODES + path_of(name))
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
        # Sent with the version that was read, because others write to the same list of taints.
        changed = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": {"taints": taints}}
        self._api.patch(NODES + path_of(metadata["name"]), changed)
        self._events.say(_reference(node), reason="MachineGone", message=f"out of service: {reason}", warning=True)

    def _delete(self, node: Object, reason: str) -> None:
        metadata = node["metadata"]
        if self._api.delete(NODES + path_of(metadata["name"]), uid=metadata["uid"]):
            self._metrics.count(NODES_REMOVED)
            self._events.say(_reference(node), reason="NodeRemoved", message=f"deleted: {reason}")

    def _has_pods(self, name: str) -> bool:
        """Return whether the node has a pod that has not ended and is not being deleted. Return True if the API does
        not answer."""
        selector = f"spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed"
        try:
            pages = self._api.pages("/api/v1/pods", accept=METADATA_LIST, fieldSelector=selector)
            pods = [pod["metadata"] for page in pages for pod in page.get("items") or []]
        except ApiError as error:
            log.warning("pods of %s: %s", name, error)
            return True
        return any("deletionTimestamp" not in metadata for metadata in pods)


def _tainted(node: Object) -> float | None:
    """Return the time at which the Node got the taint, in seconds since the epoch; 0 if the time is not known, or None
    without the taint."""
    for taint in node["spec"].get("taints", []):
        if taint["key"] == TAINT["key"] and taint["effect"] == TAINT["effect"]:
            return epoch_s(taint["timeAdded"]) if taint.get("timeAdded") else 0.0
    return None


def _reference(node: Object) -> Object:
    """Return the reference to a Node in its Events. The UID is the Node's name, as kubelets write it and `kubectl
    describe` expects it."""
    name = node["metadata"]["name"]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
