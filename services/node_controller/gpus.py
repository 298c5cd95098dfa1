"""Taint of nodes with GPUs. It is removed once the GPUs have passed their test since the machine's boot, and added
again if a later check finds a problem or the machine starts again.

The kubelet sets the taint when it registers a Node, and never again. A node may not change its own taints, so only this
controller changes the taint. The taint evicts no pods: pods on the node continue to run.
"""

from __future__ import annotations

from contract.annotations import GPU_BOOT
from contract.conditions import GPU_HEALTHY
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import Object
from contract.kubernetes.events import Events
from contract.kubernetes.paths import NODES
from contract.labels import GPU_LABEL, SITE_LABEL
from contract.metrics import LabelValues
from contract.taints import PREFLIGHT, PREFLIGHT_EFFECT, PREFLIGHT_TAINT
from services.metrics import ServiceMetrics
from services.node_controller.metrics import GPU_TAINTS
from services.node_controller.node_work import NodeWork, WatchedNodes

SELECTOR = f"{GPU_LABEL}=true,{SITE_LABEL}"
"""Label selector for Longhaul's nodes that must have GPUs."""


def kept(node: Object) -> Object:
    """Return the parts of a Node that are kept in memory. They have a few hundred bytes, whereas a Node has tens of
    thousands."""
    metadata, status = node["metadata"], node.get("status", {})
    return {
        "metadata": {
            "name": metadata["name"],
            "resourceVersion": metadata["resourceVersion"],
            "annotations": {GPU_BOOT: (metadata.get("annotations") or {}).get(GPU_BOOT, "")},
        },
        "spec": {"taints": node.get("spec", {}).get("taints") or []},
        "status": {
            "nodeInfo": {"bootID": status.get("nodeInfo", {}).get("bootID", "")},
            "conditions": [
                condition for condition in status.get("conditions") or () if condition.get("type") == GPU_HEALTHY
            ],
        },
    }


def objection(node: Object) -> str:
    """Return the reason why no pods may be scheduled on the node; empty if pods may be scheduled. A node writes its own
    conditions, so a type may occur twice, and reason and message may be missing."""
    status = node["status"]
    tested, runs = node["metadata"]["annotations"][GPU_BOOT], status["nodeInfo"]["bootID"]
    if not status["conditions"]:
        return "its GPUs have not been tested yet"
    if not runs or tested != runs:
        return "its GPUs have not been tested since it was started"
    bad = next((condition for condition in status["conditions"] if condition.get("status") != "True"), None)
    if bad is not None:
        return f"{bad.get('reason') or 'no reason'}: {bad.get('message') or 'its node does not say what is wrong'}"
    return ""


def tainted(node: Object) -> bool:
    """Return whether the node has the taint, which keeps new pods away."""
    return any(map(_ours, node["spec"]["taints"]))


def _ours(taint: Object) -> bool:
    return bool(taint.get("key") == PREFLIGHT_TAINT and taint.get("effect") == PREFLIGHT_EFFECT)


class GpuNodes(NodeWork):
    """Work on the taint of nodes with GPUs."""

    def __init__(self, api: Api, nodes: WatchedNodes, *, events: Events, metrics: ServiceMetrics) -> None:
        super().__init__(nodes)
        self._api, self._events, self._metrics = api, events, metrics

    def due(self, node: Object) -> bool:
        """Return whether the taint contradicts the result of the node's test."""
        return bool(objection(node)) != tainted(node)

    def by_state(self) -> dict[LabelValues, float]:
        """Return the number of nodes with the taint (``held_back``) and without the taint (``schedulable``)."""
        flags = [tainted(node) for node in self.nodes.by_name().values()]
        counts = {"held_back": sum(flags), "schedulable": len(flags) - sum(flags)}
        return {(state,): float(count) for state, count in counts.items()}

    def change(self, node: Object) -> None:
        """Add or remove the taint, and write an Event."""
        metadata, why = node["metadata"], objection(node)
        taints = [taint for taint in node["spec"]["taints"] if not _ours(taint)]
        if why:
            taints.append(PREFLIGHT)
        # Sent with the version that was read, because others write to the same list of taints.
        changed = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": {"taints": taints}}
        self._api.patch(NODES + path_of(metadata["name"]), changed)
        self._metrics.count(GPU_TAINTS, change="set" if why else "lifted")
        # The UID is the Node's name, as kubelets write it and `kubectl describe` expects it.
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": metadata["name"], "uid": metadata["name"]}}
        if why:
            self._events.say(about, reason="GpusHeldBack", message=f"no new pods: {why}", warning=True)
        else:
            self._events.say(about, reason="GpusSchedulable", message="its GPUs passed their test since its start")
