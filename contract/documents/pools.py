"""Declared pools in two documents: the ConfigMap that ``longhaul capacity`` reads, and the node controller's document
(:mod:`contract.documents.node_controller`).

User data contains a pool's labels and taints in the kubelet's form. The autoscaler's document contains the whole
environment, because the autoscaler's decisions depend on more than these fields
(:mod:`components.model.autoscaler.document`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from contract.labels import KIND_LABEL, REGION_LABEL, TYPE_LABEL

_NAME = re.compile(r"[A-Za-z0-9._/:@+=-]{1,512}")
"""Form of a group's name, which becomes part of requests to the group's cloud."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTaint:
    """A taint of a pool's nodes."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPool:
    """A pool in a cloud: the pool's groups, and the labels and taints of its Nodes."""

    name: str
    site: str
    groups: tuple[str, ...]
    """Names of the pool's Auto Scaling groups or scale sets, at least one, in the order in which they are filled."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that all Nodes of the pool have. Labels of a single machine (zone, scale set, image) are left out."""
    taints: tuple[NodeTaint, ...] = ()
    """Taints that the pool's Nodes always have."""
    max: int = 0
    """Largest number of machines."""

    @property
    def region(self) -> str:
        """Return the region of the pool's site."""
        return self.labels.get(REGION_LABEL, "")

    @property
    def kind(self) -> str:
        """Return the kind of capacity."""
        return self.labels.get(KIND_LABEL, "")

    @property
    def machine_type(self) -> str:
        """Return the machine type, by the cloud's name."""
        return self.labels.get(TYPE_LABEL, "")


def taints_document(taints: Iterable[NodeTaint]) -> list[dict[str, str]]:
    """Return taints in Kubernetes' form."""
    return [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in taints]


def to_document(pool: DeclaredPool) -> dict[str, Any]:
    """Return a pool as plain values, without its name, which is its key in a document."""
    return {
        "site": pool.site,
        "groups": list(pool.groups),
        "labels": dict(pool.labels),
        **({"taints": taints_document(pool.taints)} if pool.taints else {}),
        "max": pool.max,
    }


def of_document(name: str, document: Mapping[str, Any]) -> DeclaredPool:
    """Return the pool from a document. Raise ``ValueError`` with the first fault if the document is invalid. Ignore
    unknown keys, which a newer Longhaul may write."""
    fault = next(faults(document), "")
    if fault:
        raise ValueError(fault)
    return DeclaredPool(
        name=name,
        site=document["site"],
        groups=tuple(document["groups"]),
        labels=document.get("labels") or {},
        taints=tuple(NodeTaint(**taint) for taint in document.get("taints") or ()),
        max=document.get("max", 0),
    )


def faults(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield every fault of a pool's document."""
    site, groups, labels = document.get("site"), document.get("groups"), document.get("labels") or {}
    if not isinstance(site, str) or not site:
        yield "site: is missing; write the name of a site in a cloud"
    if not isinstance(groups, list) or not groups or not all(map(_is_name, groups)):
        yield f"groups: is {groups!r}; write the names of its auto scaling group or scale sets"
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        yield f"labels: is {labels!r}; write labels with their values"
    taints = document.get("taints") or []
    if not isinstance(taints, list) or not all(map(_is_taint, taints)):
        yield f"taints: is {taints!r}; write a list of taints, each with key, value and effect"
    most = document.get("max", 0)
    if not isinstance(most, int):
        yield f"max: is {most!r}; write a number of machines"


def to_text(pools: Iterable[DeclaredPool]) -> str:
    """Return the value of the ConfigMap."""
    return json.dumps({pool.name: to_document(pool) for pool in pools})


def of_text(text: str) -> dict[str, DeclaredPool]:
    """Parse the value of the ConfigMap. Raise ``ValueError`` if the value is invalid."""
    document = json.loads(text)
    if not isinstance(document, dict) or not all(isinstance(pool, dict) for pool in document.values()):
        raise ValueError("it is not a mapping of pools")
    return {name: of_document(name, pool) for name, pool in document.items()}


def _is_name(group: Any) -> bool:
    return isinstance(group, str) and _NAME.fullmatch(group) is not None


def _is_taint(taint: Any) -> bool:
    keys = {"key", "value", "effect"}
    return isinstance(taint, dict) and set(taint) == keys and all(isinstance(part, str) for part in taint.values())
