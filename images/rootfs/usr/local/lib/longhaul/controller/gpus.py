"""The taint of nodes with GPUs: lifted once their test was passed since the machine's boot, put back when a later look
found something, or the machine was started anew.

The kubelet sets it when it registers a Node, and never again; a node may not touch its own taints. So this is the only
one who does. It puts nobody out: what runs on a node goes on.
"""

from __future__ import annotations

import logging
from typing import Protocol

from gpu.names import BOOT, HEALTHY, PRESENT, TAINT, TAINT_EFFECT, TAINT_VALUE

from controller.api import Api, ApiError, Object
from controller.cluster import NODES
from controller.events import Events
from controller.metrics import Metrics, labelled
from controller.nodes import SITE
from controller.watch import quoted

log = logging.getLogger(__name__)

SELECTOR = f"{PRESENT}=true,{SITE}"
"""Nodes that GPUs are promised of, and that are ours."""

CONFLICT = 409


class Held(Protocol):
    """What a watch holds."""

    def held(self) -> dict[str, Object]:
        """Every Node by name."""


def kept(node: Object) -> Object:
    """What is held of a Node: a few hundred bytes of its tens of thousands."""
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
    """Why there may be no work on it; empty when there may. A node writes its own conditions: there may be two of a
    type, and neither reason nor message need be there."""
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
    """Whether the scheduler keeps pods away from it."""
    return any(map(_ours, node["spec"]["taints"]))


def _ours(taint: Object) -> bool:
    return bool(taint.get("key") == TAINT and taint.get("effect") == TAINT_EFFECT)


class GpuNodes:
    """Looks at them in memory, and asks the API for nothing but the changes that it makes."""

    def __init__(self, api: Api, nodes: Held, *, events: Events, metrics: Metrics) -> None:
        self._api, self._nodes, self._events, self._metrics = api, nodes, events, metrics
        self._done: dict[str, str] = {}
        """Version of each Node that was changed, or that somebody else had changed meanwhile: nothing is to be done
        before a newer one is known."""

    def look(self) -> bool:
        """Change what has to be; True when something could not be, and is to be tried again."""
        nodes, left = self._nodes.held(), False
        self._done = {name: version for name, version in self._done.items() if name in nodes}
        for name, node in nodes.items():
            try:
                left |= self._one(name, node)
            except Exception:
                # Nodes write about themselves: one of them must not end the look at all others.
                log.exception("taint of %s: its Node cannot be worked on", name)
        return left

    def _one(self, name: str, node: Object) -> bool:
        """Whether something is left to do."""
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
        """How many there are with the taint, and without."""
        held = [tainted(node) for node in self._nodes.held().values()]
        counts = {"held_back": sum(held), "schedulable": len(held) - sum(held)}
        return {labelled("gpu_nodes", state=state): float(count) for state, count in counts.items()}

    def _change(self, node: Object, why: str) -> None:
        metadata = node["metadata"]
        taints = [taint for taint in node["spec"]["taints"] if not _ours(taint)]
        if why:
            taints.append({"key": TAINT, "value": TAINT_VALUE, "effect": TAINT_EFFECT})
        # With the version that was read: taints are one list, and others write to it too.
        changed = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "spec": {"taints": taints}}
        self._api.patch(f"{NODES}/{quoted(metadata['name'])}", changed)
        self._metrics.count("gpu_taints", change="set" if why else "lifted")
        # By its name in the place of a UID, as kubelets do and `kubectl describe` looks.
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": metadata["name"], "uid": metadata["name"]}}
        if why:
            self._events.say(about, reason="GpusHeldBack", message=f"no new pods: {why}", warning=True)
        else:
            self._events.say(about, reason="GpusSchedulable", message="its GPUs passed their test since its start")
