"""Nodes that their cloud takes back. They are cordoned, and their pods are ended while there is time.

A node learns of its interruption from its cloud, and reports it by a condition and a label of its own Node
(``node/interruption_watch.py``). The node may not change its own taints (k8s.io/kubernetes,
``plugin/pkg/admission/noderestriction``), so this controller cordons and taints it. The taint has the effect NoExecute:
kube-controller-manager deletes every pod that does not tolerate the taint. Each pod has its own grace period, in which
it may write a checkpoint.
"""

from __future__ import annotations

from contract.conditions import INTERRUPTION
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import Object
from contract.kubernetes.events import Events
from contract.kubernetes.paths import NODES
from contract.labels import INTERRUPTED, SITE_LABEL
from contract.taints import INTERRUPTED_TAINT
from services.metrics import ServiceMetrics
from services.node_controller.metrics import INTERRUPTIONS
from services.node_controller.node_work import NodeWork, WatchedNodes

SELECTOR = f"{INTERRUPTED}=true,{SITE_LABEL}"


def kept(node: Object) -> Object:
    """Return the parts of a Node that are kept in memory."""
    metadata, spec, status = node["metadata"], node.get("spec", {}), node.get("status", {})
    conditions = [condition for condition in status.get("conditions") or () if condition.get("type") == INTERRUPTION]
    return {
        "metadata": {"name": metadata["name"], "resourceVersion": metadata["resourceVersion"]},
        "spec": {"taints": spec.get("taints") or []},
        "status": {"message": str(conditions[0].get("message") or "") if conditions else ""},
    }


class Interruptions(NodeWork):
    """Work on nodes that their cloud takes back. The cordon and the taint are never removed, because the machine ends,
    and a new machine gets a new Node."""

    def __init__(self, api: Api, nodes: WatchedNodes, *, events: Events, metrics: ServiceMetrics) -> None:
        super().__init__(nodes)
        self._api, self._events, self._metrics = api, events, metrics

    def due(self, node: Object) -> bool:
        """Return whether the node lacks the taint."""
        taints = ((taint.get("key"), taint.get("effect")) for taint in node["spec"]["taints"])
        return (INTERRUPTED_TAINT["key"], INTERRUPTED_TAINT["effect"]) not in taints

    def change(self, node: Object) -> None:
        """Cordon the node and add the taint, and write an Event."""
        metadata, why = node["metadata"], node["status"]["message"]
        spec = {"unschedulable": True, "taints": [*node["spec"]["taints"], INTERRUPTED_TAINT]}
        # Sent with the version that was read, because others write to the same list of taints.
        changed = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": spec}
        self._api.patch(NODES + path_of(metadata["name"]), changed)
        self._metrics.count(INTERRUPTIONS)
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": metadata["name"], "uid": metadata["name"]}}
        message = f"closed, and its pods are ended: {why or 'its node does not say why'}"
        self._events.say(about, reason="NodeInterrupted", message=message, warning=True)
