"""Taint of nodes with GPUs: removed once the GPUs have passed their test since the machine's boot, put back when a
later look finds a problem or the machine was started again.

The kubelet sets the taint when it registers a Node, and never again; a node may not change its own taints. So only this
controller changes it. The taint evicts no pods: what runs on a node continues.
"""

from __future__ import annotations

import logging
from typing import Protocol

from gpu.names import BOOT, HEALTHY, PRESENT, TAINT, TAINT_EFFECT, TAINT_VALUE

from controller.api import Api, ApiError, Object
from controller.cluster import NODES
from controller.events import Events
from controller.metrics import Metrics, labelled
from controller.node_removal import SITE
from controller.watch import quoted

log = logging.getLogger(__name__)

SELECTOR = f"{PRESENT}=true,{SITE}"
"""Label selector for Longhaul's nodes that must have GPUs."""

CONFLICT = 409


class Held(Protocol):
    """Objects that a watch holds."""

    def held(self) -> dict[str, Object]:
        """Return every Node by name."""


def kept(node: Object) -> Object:
    """Return the parts of a Node that are kept in memory: a few hundred bytes of tens of thousands."""
    metadata, status = node["metadata"], node.get("status", {})
    return {
        "metadata": {
            "name": metadata["name"],
            "resourceVersion": metadata["resourceVersion"],
            "annotations": {BOOT: (metadata.get("annotations") or {}).get(BOOT, "")},
        },
        "spec": {"taints": node.get("spec", {}).get("taints") or []},
        "status": {
            "nodeInfo": {"bootID": status.get("nodeInfo", {}).get("bootID", "")},
            "conditions": [one for one in status.get("conditions") or () if one.get("type") == HEALTHY],
        },
    }


def objection(node: Object) -> str:
    """Return why no pods may be scheduled on the node; empty when they may. A node writes its own conditions: a type
    may occur twice, and reason and message may be missing."""
    status = node["status"]
    tested, runs = node["metadata"]["annotations"][BOOT], status["nodeInfo"]["bootID"]
    if not status["conditions"]:
        return "its GPUs have not been tested yet"
    if not runs or tested != runs:
        return "its GPUs have not been tested since it was started"
    bad = next((one for one in status["conditions"] if one.get("status") != "True"), None)
    if bad is not None:
        return f"{bad.get('reason') or 'no reason'}: {bad.get('message') or 'its node does not say what is wrong'}"
    return ""


def tainted(node: Object) -> bool:
    """Return whether the node has the taint, which keeps new pods away."""
    return any(map(_ours, node["spec"]["taints"]))


def _ours(taint: Object) -> bool:
    return bool(taint.get("key") == TAINT and taint.get("effect") == TAINT_EFFECT)


class GpuNodes:
    """Compares the Nodes in memory, and calls the API only for the changes that it makes."""

    def __init__(self, api: Api, nodes: Held, *, events: Events, metrics: Metrics) -> None:
        self._api, self._nodes, self._events, self._metrics = api, nodes, events, metrics
        self._done: dict[str, str] = {}
        """Version of each Node that was changed here, or by another writer meanwhile. Such a Node is left alone until a
        newer version is known."""

    def look(self) -> bool:
        """Make the necessary changes; return True when one failed and must be tried again."""
        nodes, left = self._nodes.held(), False
        self._done = {name: version for name, version in self._done.items() if name in nodes}
        for name, node in nodes.items():
            try:
                left |= self._one(name, node)
            except Exception:
                # Nodes write about themselves: a fault in one must not stop the work on all others.
                log.exception("taint of %s: its Node cannot be worked on", name)
        return left

    def _one(self, name: str, node: Object) -> bool:
        """Change one Node's taint where necessary; return whether this failed and must be tried again."""
        version, why = node["metadata"]["resourceVersion"], objection(node)
        if bool(why) == tainted(node) or self._done.get(name) == version:
            return False
        try:
            self._change(node, why)
        except ApiError as error:
            if error.status not in (404, CONFLICT):
                log.warning("taint of %s: %s", name, error)
                return True
        self._done[name] = version
        return False

    def gauges(self) -> dict[str, float]:
        """Return the number of nodes with the taint, and without it."""
        held = [tainted(node) for node in self._nodes.held().values()]
        counts = {"held_back": sum(held), "schedulable": len(held) - sum(held)}
        return {labelled("gpu_nodes", state=state): float(count) for state, count in counts.items()}

    def _change(self, node: Object, why: str) -> None:
        metadata = node["metadata"]
        taints = [taint for taint in node["spec"]["taints"] if not _ours(taint)]
        if why:
            taints.append({"key": TAINT, "value": TAINT_VALUE, "effect": TAINT_EFFECT})
        # Sent with the version that was read, because others write to the same list of taints.
        changed = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": {"taints": taints}}
        self._api.patch(f"{NODES}/{quoted(metadata['name'])}", changed)
        self._metrics.count("gpu_taints", change="set" if why else "lifted")
        # The UID is the Node's name, as kubelets write it and `kubectl describe` expects it.
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": metadata["name"], "uid": metadata["name"]}}
        if why:
            self._events.say(about, reason="GpusHeldBack", message=f"no new pods: {why}", warning=True)
        else:
            self._events.say(about, reason="GpusSchedulable", message="its GPUs passed their test since its start")
