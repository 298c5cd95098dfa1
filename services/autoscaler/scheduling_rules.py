"""Labels, taints and selectors: whether a pod may be on a node, by the scheduler's rules (k8s.io/component-helpers,
``scheduling/corev1``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from contract.labels import HOSTNAME_LABEL
from services.autoscaler.pod_shapes import (
    AntiAffinity,
    NodeConstraints,
    NodeKind,
    NodeSelectorTerm,
    SchedulingTaint,
    SelectorOperator,
    SelectorRequirement,
    Toleration,
)

WHOLE = re.compile("[+-]?[0-9]{1,18}")
"""A whole number; Python's own ``int`` takes ``1_000`` too."""
UNMADE = "?"
"""Host's name of a node that is still to be made: it has one, but none that a selector can name (no label's value may
be this)."""
REPELS = ("NoSchedule", "NoExecute")
"""Effects of taints that keep a pod away; ``PreferNoSchedule`` is only a preference."""


def is_fulfilled(requirement: SelectorRequirement, labels: Mapping[str, str]) -> bool:
    """Return whether labels fulfil a requirement."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case SelectorOperator.IN:
            return value is not None and value in requirement.values
        case SelectorOperator.NOT_IN:
            return value is None or value not in requirement.values
        case SelectorOperator.EXISTS:
            return value is not None
        case SelectorOperator.DOES_NOT_EXIST:
            return value is None
        case SelectorOperator.GT | SelectorOperator.LT:
            return _compared(requirement, value)


def _compared(requirement: SelectorRequirement, value: str | None) -> bool:
    """Compare whole numbers as Go's ``strconv.ParseInt`` reads them. Any other value fulfils nothing."""
    texts = (value or "", *requirement.values[:1])
    if len(texts) < 2 or not all(map(WHOLE.fullmatch, texts)):
        return False
    label, wanted = map(int, texts)
    return label > wanted if requirement.operator is SelectorOperator.GT else label < wanted


def is_tolerated(taint: SchedulingTaint, tolerations: Iterable[Toleration]) -> bool:
    """Return whether a pod with these tolerations may be on a node with the taint."""
    return taint.effect not in REPELS or any(
        toleration.key in ("", taint.key)
        and toleration.effect in ("", taint.effect)
        and toleration.value in (None, taint.value)
        for toleration in tolerations
    )


def mismatch(where: NodeConstraints, kind: NodeKind, name: str = "") -> str:
    """Return why a pod may not be on a node of a kind; empty when it may. ``name`` is the node's name; a node that is
    still to be made has none."""
    labels = node_labels(kind, name)
    if kind.variants:
        reasons = [label_mismatch(where, labels | dict(variant), name) for variant in kind.variants]
        reason = next(filter(None, reasons), "")
        if reason:
            return reason if all(reasons) else f"{reason} in each of its zones"
    elif reason := label_mismatch(where, labels, name):
        return reason
    for taint in kind.taints:
        if not is_tolerated(taint, where.tolerations):
            return f"its taint {taint} is not tolerated"
    return ""


def node_labels(kind: NodeKind, name: str) -> dict[str, str]:
    """Return the labels of a node with its host's name."""
    labels = dict(kind.labels)
    if kind.host is not None:
        labels[HOSTNAME_LABEL] = kind.host or name or UNMADE
    return labels


def label_mismatch(where: NodeConstraints, labels: Mapping[str, str], name: str) -> str:
    """Return why a pod may not be on a node with these labels (k8s.io/component-helpers, ``nodeaffinity``,
    ``GetRequiredNodeAffinity``); empty when it may."""
    for requirement in (*where.selector, *where.features) if where.features else where.selector:
        if not is_fulfilled(requirement, labels):
            return f"it is not {requirement}"
    for terms in (*where.affinity, *where.volumes) if where.volumes else where.affinity:
        if not any(_term(term, labels, name) for term in terms):
            sentence = " or ".join(filter(None, map(_phrase, terms)))
            return f"its labels are not {sentence}" if sentence else "an empty affinity matches no node"
    return ""


def _term(term: NodeSelectorTerm, labels: Mapping[str, str], name: str) -> bool:
    if not term.labels and not term.fields:
        return False
    fields = {requirement.key: name for requirement in term.fields}
    return (
        all(is_fulfilled(requirement, labels) for requirement in term.labels)
        and all(is_fulfilled(requirement, fields) for requirement in term.fields if name)
        and (bool(name) or all(field.operator is SelectorOperator.NOT_IN for field in term.fields))
    )


def _phrase(term: NodeSelectorTerm) -> str:
    return " and ".join(map(str, (*term.labels, *term.fields)))


def keeps_apart(apart: AntiAffinity, namespace: str, labels: Mapping[str, str]) -> bool:
    """Return whether an anti-affinity selects a pod with this namespace and these labels."""
    if apart.namespaces is not None and namespace not in apart.namespaces:
        return False
    return all(is_fulfilled(requirement, labels) for requirement in apart.labels)
