"""Volumes that exist already and suit a claim without a volume."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contract.kubernetes.quantities import whole
from services.autoscaler.node_terms import label_requirements, node_terms
from services.autoscaler.pod_shapes import FreeVolumes, NodeSelectorTerm
from services.autoscaler.scheduling_rules import is_fulfilled

Object = Mapping[str, Any]

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
AVAILABLE, FILESYSTEM = "Available", "Filesystem"
STORAGE = "storage"


def free_volumes(volumes: Iterable[Object], claim: Object, name: tuple[str, str], class_: str) -> FreeVolumes:
    """Return the volumes of a class that suit a claim. ``name`` is the claim's namespace and name. A volume that is
    bound to the claim is the only choice (k8s.io/component-helpers, ``storage/volume``, ``FindMatchingVolume``)."""
    choices: list[tuple[int, str, tuple[NodeSelectorTerm, ...]]] = []
    for item in volumes:
        spec, reference = item["spec"], item["spec"].get("claimRef")
        # A volume of a former claim with this name belongs to no claim now.
        bound = bool(reference) and (
            (reference.get("namespace"), reference.get("name")) == name
            and reference.get("uid") in (None, "", claim["metadata"].get("uid"))
        )
        if class_of(item) == class_ and (bound or not reference) and _suits(item, claim, bound=bound):
            required = (spec.get("nodeAffinity") or {}).get("required")
            size = -1 if bound else whole(STORAGE, (spec.get("capacity") or {}).get(STORAGE, 0))
            choices.append((size, item["metadata"]["name"], node_terms(required) if required else ()))
    choices.sort(key=lambda choice: choice[:2])
    only = choices[:1] if choices and choices[0][0] < 0 else choices
    size = requested_storage(claim) or 0
    return FreeVolumes(size, class_, tuple((volume, terms) for _, volume, terms in only))


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
