"""Volumes that exist already and suit a claim without a volume."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contract.kubernetes.quantities import whole
from contract.labels import HOSTNAME_LABEL
from services.autoscaler.node_terms import label_requirements, node_terms
from services.autoscaler.pod_shapes import (
    FreeVolumes,
    NodeSelectorTerm,
    SelectorOperator,
    SelectorRequirement,
    names_hosts,
)
from services.autoscaler.scheduling_rules import is_fulfilled

Object = Mapping[str, Any]
Terms = tuple[NodeSelectorTerm, ...]

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
AVAILABLE, FILESYSTEM = "Available", "Filesystem"
STORAGE = "storage"


class VolumeStock:
    """Volumes by their class, and by the claims to which they are bound."""

    def __init__(self, volumes: Iterable[Object]) -> None:
        self._free: dict[str, list[Object]] = {}
        self._bound: dict[tuple[str, str], list[Object]] = {}
        for item in volumes:
            if reference := item["spec"].get("claimRef"):
                self._bound.setdefault((reference.get("namespace"), reference.get("name")), []).append(item)
            else:
                self._free.setdefault(class_of(item), []).append(item)
        self._known: dict[str, tuple[FreeVolumes, Terms | None]] = {}
        """Results by what claims ask for; the claims of a set ask for the same."""

    def suitable(self, claim: Object, name: tuple[str, str], class_: str) -> tuple[FreeVolumes, Terms | None]:
        """Return the volumes of a class that suit a claim, and the alternatives of their nodes; None for the latter if
        one of them may be used anywhere. ``name`` is the claim's namespace and name. A volume that is bound to the
        claim is the only choice (k8s.io/component-helpers, ``storage/volume``, ``FindMatchingVolume``)."""
        # A volume of a former claim with this name belongs to no claim now.
        uids = (None, "", claim["metadata"].get("uid"))
        bound = [
            item
            for item in self._bound.get(name, ())
            if class_of(item) == class_
            and item["spec"]["claimRef"].get("uid") in uids
            and _suits(item, claim, bound=True)
        ]
        if bound:
            return _parsed(sorted(bound, key=_order)[:1], claim, class_)
        key = repr((class_, claim["spec"]))
        if key not in self._known:
            free = [item for item in self._free.get(class_, ()) if _suits(item, claim, bound=False)]
            self._known[key] = _parsed(sorted(free, key=_order), claim, class_)
        return self._known[key]


def _order(volume: Object) -> tuple[int, str]:
    """Return a sort key: the smallest first."""
    return whole(STORAGE, (volume["spec"].get("capacity") or {}).get(STORAGE, 0)), volume["metadata"]["name"]


def _parsed(volumes: Iterable[Object], claim: Object, class_: str) -> tuple[FreeVolumes, Terms | None]:
    required = [(item, (item["spec"].get("nodeAffinity") or {}).get("required")) for item in volumes]
    choices = tuple((item["metadata"]["name"], node_terms(terms) if terms else ()) for item, terms in required)
    terms = dict.fromkeys(term for _, terms in choices for term in terms)
    # Thousands of local volumes are each on one host.
    local = {term for term in terms if len(term.labels) == 1 and names_hosts(term.labels[0]) and not term.fields}
    hosts = sorted({host for term in local for host in term.labels[0].values})
    on_hosts = NodeSelectorTerm((SelectorRequirement(HOSTNAME_LABEL, SelectorOperator.IN, tuple(hosts)),))
    somewhere = (*(term for term in terms if term not in local), *([on_hosts] if hosts else ()))
    everywhere = not all(terms for _, terms in choices)
    return FreeVolumes(requested_storage(claim) or 0, class_, choices), None if everywhere else somewhere


def class_of(item: Object) -> str:
    """Return the storage class of a claim or volume."""
    annotated = (item["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION)
    return str(annotated or item["spec"].get("storageClassName") or "")


def _suits(volume: Object, claim: Object, *, bound: bool) -> bool:
    """Return whether a volume has what a claim asks for."""
    offered, asked = volume["spec"], claim["spec"]
    size = requested_storage(claim) or 0
    if whole(STORAGE, (offered.get("capacity") or {}).get(STORAGE, size)) < size:
        return False
    if (offered.get("volumeMode") or FILESYSTEM) != (asked.get("volumeMode") or FILESYSTEM):
        return False
    attributes = "volumeAttributesClassName"
    if "deletionTimestamp" in volume["metadata"] or (offered.get(attributes) or "") != (asked.get(attributes) or ""):
        return False
    if bound:
        return True
    labels = volume["metadata"].get("labels") or {}
    return (
        (volume.get("status") or {}).get("phase", AVAILABLE) == AVAILABLE
        and {*(asked.get("accessModes") or ())} <= {*(offered.get("accessModes") or asked.get("accessModes") or ())}
        and all(is_fulfilled(requirement, labels) for requirement in label_requirements(asked.get("selector") or {}))
    )


def requested_storage(claim: Object) -> int | None:
    """Return the bytes that a claim asks for, if it names them."""
    text = ((claim["spec"].get("resources") or {}).get("requests") or {}).get(STORAGE)
    return None if text is None else whole(STORAGE, text)
