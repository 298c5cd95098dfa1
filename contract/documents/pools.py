"""Declared pools as ``longhaul capacity`` reads them from a ConfigMap. The node controller's document has groups of
machines in their place (:mod:`contract.documents.node_controller`); user data has a pool's labels and taints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from contract.labels import KIND_LABEL, REGION_LABEL, TYPE_LABEL


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTaint:
    """A taint of a pool's nodes."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPool:
    """A pool in a cloud: its groups, and the labels and taints of its Nodes."""

    name: str
    site: str
    groups: tuple[str, ...]
    """Names of its Auto Scaling groups or scale sets, in the order in which they are filled. There is at least one."""
    labels: Mapping[str, str]
    """Labels of its Nodes, without those of a single machine (zone, scale set, image)."""
    taints: tuple[NodeTaint, ...] = ()
    """Taints that its Nodes always have."""
    max: int = 0
    """Largest number of machines."""

    @property
    def region(self) -> str:
        """Return the region of its site."""
        return self.labels.get(REGION_LABEL, "")

    @property
    def kind(self) -> str:
        """Return the kind of capacity."""
        return self.labels.get(KIND_LABEL, "")

    @property
    def machine_type(self) -> str:
        """Return the machine type in its cloud."""
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
    """Return the pool from a document. Raise ``ValueError`` with the fault when it is invalid. Unknown keys are
    ignored: a newer Longhaul may write them."""
    site, groups, labels = document.get("site"), document.get("groups"), document.get("labels")
    if not isinstance(site, str) or not site:
        raise ValueError("site: is missing; write the name of a site in a cloud")
    if not _are_texts(groups):
        raise ValueError(f"groups: is {groups!r}; write the names of its auto scaling group or scale sets")
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise ValueError(f"labels: is {labels!r}; write labels with their values")
    taints = document.get("taints") or []
    if not isinstance(taints, list) or not all(map(is_taint, taints)):
        raise ValueError(f"taints: is {taints!r}; write a list of taints, each with key, value and effect")
    most = document.get("max", 0)
    if not isinstance(most, int):
        raise ValueError(f"max: is {most!r}; write a number of machines")
    return DeclaredPool(
        name=name,
        site=site,
        groups=tuple(groups),
        labels=labels,
        taints=tuple(NodeTaint(**taint) for taint in taints),
        max=most,
    )


def to_text(pools: Iterable[DeclaredPool]) -> str:
    """Return the value of the ConfigMap."""
    return json.dumps({pool.name: to_document(pool) for pool in pools})


def of_text(text: str) -> dict[str, DeclaredPool]:
    """Parse the value of the ConfigMap. Raise ``ValueError`` when it is invalid."""
    document = json.loads(text)
    if not isinstance(document, dict) or not all(isinstance(pool, dict) for pool in document.values()):
        raise ValueError("it is not a mapping of pools")
    return {name: of_document(name, pool) for name, pool in document.items()}


def _are_texts(names: Any) -> TypeGuard[list[str]]:
    return isinstance(names, list) and bool(names) and all(isinstance(name, str) and name for name in names)


def is_taint(taint: Any) -> bool:
    """Return whether a document's value is a taint with key, value and effect."""
    keys = {"key", "value", "effect"}
    return isinstance(taint, dict) and set(taint) == keys and all(isinstance(part, str) for part in taint.values())
