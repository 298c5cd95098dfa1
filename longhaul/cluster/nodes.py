"""Nodes as the cluster's API reports them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from components.model.nodes.host_nodes import HOSTS
from contract.annotations import AUTHORITIES
from contract.conditions import GPU_HEALTHY
from contract.kubernetes.readiness import ready_condition
from contract.labels import GPU_LABEL, HOSTS_POOL_LABEL, POOL_LABEL, SITE_LABEL, UNCHECKED
from contract.reasons.status import StatusReason
from contract.taints import PREFLIGHT_TAINT


def node(item: Mapping[str, Any]) -> NodeView:
    """Convert one Node object."""
    metadata, status = item["metadata"], item.get("status", {})
    labels = metadata.get("labels", {})
    pool = labels.get(POOL_LABEL, "")
    ready = ready_condition(item)
    silence = StatusReason.NODE_NOT_READY, ready.message or "it has never been ready"
    reason, message = _closed(item) if ready.is_true else silence
    return NodeView(
        name=metadata["name"],
        site=labels.get(SITE_LABEL, ""),
        pool=HOSTS if pool == HOSTS_POOL_LABEL else pool,
        ready=ready.is_true,
        reason=reason,
        message=message,
        gpus=_gpus(item) if GPU_LABEL in labels else "",
        created=str(metadata.get("creationTimestamp", "")),
        version=str(status.get("nodeInfo", {}).get("kubeletVersion", "")),
        authorities=frozenset(filter(None, metadata.get("annotations", {}).get(AUTHORITIES, "").split(","))),
    )


PRESSURES = ("DiskPressure", "MemoryPressure", "PIDPressure")
"""Conditions of a node that lacks something (kubernetes.io, "Node-pressure Eviction")."""


def _closed(item: Mapping[str, Any]) -> tuple[StatusReason, str]:
    """Return why a ready node takes no new pods: a reason and a sentence. The sentence is empty when it takes pods."""
    causes = []
    conditions = (item.get("status") or {}).get("conditions") or ()
    pressed = [
        str(condition.get("message") or condition["type"])
        for condition in conditions
        if condition["type"] in PRESSURES and condition.get("status") == "True"
    ]
    if pressed:
        causes.append((StatusReason.NODE_PRESSURE, "; ".join(pressed)))
    if UNCHECKED in item["metadata"].get("labels", {}):
        unchecked = "the node controller has not checked it yet: its machine is in no list (docs/nodes.md)"
        causes.append((StatusReason.UNCHECKED, unchecked))
    if item.get("spec", {}).get("unschedulable"):
        causes.append((StatusReason.CORDONED, "cordoned"))
    return causes[0][0] if causes else StatusReason.READY, "; ".join(message for _, message in reversed(causes))


def _gpus(item: Mapping[str, Any]) -> str:
    """Return why a node's GPUs are withheld; empty when they are not."""
    conditions = item.get("status", {}).get("conditions", ())
    verdict: Mapping[str, Any] = next((condition for condition in conditions if condition["type"] == GPU_HEALTHY), {})
    if not verdict:
        return "its GPUs have not been tested yet"
    if verdict.get("status") != "True":
        return f"{verdict.get('reason')}: {verdict.get('message')}"
    held_back = any(taint["key"] == PREFLIGHT_TAINT for taint in item.get("spec", {}).get("taints", ()))
    return (
        f"its GPUs wait for the node controller, which has not lifted the taint {PREFLIGHT_TAINT}" if held_back else ""
    )


@dataclass(frozen=True, kw_only=True)
class NodeView:
    """A node as the API reports it."""

    name: str
    site: str
    pool: str
    ready: bool
    reason: StatusReason
    message: str
    """Sentence with the reason why the node is not ready or takes no pods; empty for a node that takes pods."""
    created: str
    """Time of creation, RFC 3339."""
    version: str
    gpus: str = ""
    """Reason why the node's GPUs are withheld; empty when they are not withheld, or when the node has none."""
    authorities: frozenset[str] = frozenset()
    """SHA-256 of the API servers' authorities that the node trusts; empty when it does not report them."""
