"""Terms of node selectors in the API, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.autoscaler.pod_shapes import NodeSelectorTerm, SelectorOperator, SelectorRequirement

Object = Mapping[str, Any]


def node_terms(selector: Object) -> tuple[NodeSelectorTerm, ...]:
    """Return the terms of a node selector."""
    return tuple(
        NodeSelectorTerm(
            tuple(requirement(expression) for expression in term.get("matchExpressions") or ()),
            tuple(requirement(field) for field in term.get("matchFields") or ()),
        )
        for term in selector.get("nodeSelectorTerms") or ()
    )


def requirement(item: Object) -> SelectorRequirement:
    """Return a requirement of a selector."""
    return SelectorRequirement(
        item["key"], SelectorOperator(item["operator"]), tuple(map(str, item.get("values") or ()))
    )


def label_requirements(selector: Object) -> tuple[SelectorRequirement, ...]:
    """Return the requirements of a selector of labels."""
    exact = [
        SelectorRequirement(key, SelectorOperator.IN, (value,))
        for key, value in sorted((selector.get("matchLabels") or {}).items())
    ]
    return (*exact, *(requirement(expression) for expression in selector.get("matchExpressions") or ()))
