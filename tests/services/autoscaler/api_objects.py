"""Objects of a cluster's API, as an API server gives them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def pod(name: str, *, node: str = "", owner: str = "", phase: str = "", **spec: Any) -> Object:
    """Return a pod. ``requests``, ``labels``, ``annotations`` and ``status`` go where they belong."""
    metadata: Object = {"name": name, "namespace": spec.pop("namespace", "team"), "uid": f"uid-{name}"}
    metadata |= {key: spec.pop(key) for key in ("labels", "annotations", "deletionTimestamp") if key in spec}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "x", "controller": True}]
    status = {"phase": phase or ("Running" if node else "Pending"), **spec.pop("status", {})}
    container = {"name": "main", "resources": {"requests": spec.pop("requests", {})}}
    spec = {"containers": [container], **({"nodeName": node} if node else {}), **spec}
    return {"metadata": metadata, "spec": spec, "status": status}


def node(name: str, *, pool: str = "a100", ready: str = "True", **more: Any) -> Object:
    """Return a node with eight GPUs."""
    labels = {"kubernetes.io/hostname": name, "longhaul.dev/pool": pool, **more.pop("labels", {})}
    made = more.pop("made", "2026-03-01T08:00:00Z")
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": more.pop("since", "2026-03-01T08:02:00Z")}
    has = {"cpu": "94", "memory": "1000Gi", "pods": "16", "nvidia.com/gpu": "8", **more.pop("has", {})}
    return {
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": more.pop("annotations", {}),
            "creationTimestamp": made,
        },
        "spec": more,
        "status": {"allocatable": has, "conditions": [condition]},
    }
