"""Claims of volumes: where their pods may be, and why a claim cannot be used yet (kubernetes
1.36, ``pkg/scheduler/framework/plugins``: ``volumebinding``, ``volumezone``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contract.kubernetes.quantities import whole
from contract.labels import REGION_LABEL, ZONE_LABEL
from services.autoscaler.node_terms import label_requirements, node_terms
from services.autoscaler.pod_shapes import NodeSelectorTerm, SelectorOperator, SelectorRequirement
from services.autoscaler.scheduling_rules import is_fulfilled
from services.autoscaler.volume_counts import IN_TREE, MIGRATED, VolumeId, counted_volume, in_tree_volume

Object = Mapping[str, Any]
Terms = tuple[NodeSelectorTerm, ...]

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
"""Annotations of the default class, which claims without a class get (kubernetes 1.36, ``pkg/volume/util``,
``IsDefaultAnnotation``)."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
AVAILABLE, FILESYSTEM = "Available", "Filesystem"
NOT_PROVISIONED = "kubernetes.io/no-provisioner"
ZONES = {
    "failure-domain.beta.kubernetes.io/zone": ZONE_LABEL,
    "failure-domain.beta.kubernetes.io/region": REGION_LABEL,
    ZONE_LABEL: ZONE_LABEL,
    REGION_LABEL: REGION_LABEL,
}
"""Labels of a volume that its nodes must have, with the nodes' label (``volumezone``, ``translateToGALabel``)."""
NOWHERE = NodeSelectorTerm(tuple(SelectorRequirement(key, SelectorOperator.DOES_NOT_EXIST) for key in ZONES))
"""Nodes without labels of a zone or region, which take volumes of all zones (``volumezone``, ``Filter``)."""
NO_STORAGE = NodeSelectorTerm((SelectorRequirement("storage of that size", SelectorOperator.EXISTS),))
"""A term that no node fulfils, for a size of storage that no driver reports anywhere."""
SOURCES = frozenset({"persistentVolumeClaim", "ephemeral", *IN_TREE})
"""Kinds of pods' volumes that need objects about volumes."""
ONE_POD = "ReadWriteOncePod"
STORAGE = "storage"


@dataclass(frozen=True, kw_only=True)
class StorageObjects:
    """Listed objects about volumes."""

    claims: Sequence[Object] = ()
    volumes: Sequence[Object] = ()
    classes: Sequence[Object] = ()
    drivers: Sequence[Object] = ()
    capacities: Sequence[Object] = ()
    attachments: Sequence[Object] = ()
    csi_nodes: Sequence[Object] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedVolume:
    """A volume as a pod claims it."""

    where: tuple[Terms, ...] = ()
    """Groups of alternatives; one term of each must hold on the node."""
    obstacle: str = ""
    """Reason why the volume cannot be used yet; empty when it can be used."""
    counted: VolumeId | None = None
    """Identity by which a node counts the volume; None when nodes do not count it."""


class VolumeClaims:
    """Claims, volumes and classes of a cluster."""

    def __init__(self, objects: StorageObjects | None = None, pods: Iterable[Object] = ()) -> None:
        """``pods`` are all pods that have not ended."""
        objects = objects or StorageObjects()
        self._claims = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in objects.claims}
        self._volumes = {item["metadata"]["name"]: item for item in objects.volumes}
        self._classes = {item["metadata"]["name"]: item for item in objects.classes}
        self._measured = {
            item["metadata"]["name"] for item in objects.drivers if (item.get("spec") or {}).get("storageCapacity")
        }
        """Drivers that report their free storage and its place."""
        self._capacities = objects.capacities
        self._default_class = _default_class(objects.classes)
        self._known: dict[tuple[str, str], ClaimedVolume] = {}
        single = {key for key, item in self._claims.items() if ONE_POD in (item["spec"].get("accessModes") or ())}
        self._users = _users(pods, single) if single else {}

    def of_pod(self, pod: Object) -> Iterator[ClaimedVolume]:
        """Yield the volumes that a pod claims."""
        metadata = pod["metadata"]
        namespace, owner = str(metadata.get("namespace", "")), metadata.get("uid")
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("persistentVolumeClaim"):
                name = volume["persistentVolumeClaim"]["claimName"]
                yield self._claim(namespace, name)
                user = self._users.get((namespace, name))
                if user and user != metadata.get("name") and not pod["spec"].get("nodeName"):
                    yield ClaimedVolume(obstacle=f"its volume claim {name} is for one pod at a time, and {user} has it")
            elif volume.get("ephemeral"):
                name = f"{metadata.get('name', '')}-{volume['name']}"
                item = self._claims.get((namespace, name))
                owners = item["metadata"].get("ownerReferences") or () if item else ()
                if item is None:
                    # The claim is made after its pod, or with it.
                    template = volume["ephemeral"].get("volumeClaimTemplate") or {}
                    claim = {
                        "metadata": {"annotations": {}, **(template.get("metadata") or {})},
                        "spec": {**self._default_class, **template["spec"]},
                    }
                    yield self._parsed(namespace, name, claim)
                elif owner and not any(reference.get("uid") == owner for reference in owners):
                    yield ClaimedVolume(obstacle=f"its volume claim {name} is not its own")
                else:
                    yield self._claim(namespace, name)
            elif counted := in_tree_volume(volume):
                yield ClaimedVolume(counted=counted)

    def _claim(self, namespace: str, name: str) -> ClaimedVolume:
        key = (namespace, name)
        known = self._known.get(key)
        if known is None:
            item = self._claims.get(key)
            missing = ClaimedVolume(obstacle=f"its volume claim {name} does not exist")
            known = self._known[key] = missing if item is None else self._parsed(namespace, name, item)
        return known

    def _parsed(self, namespace: str, name: str, item: Object) -> ClaimedVolume:
        phase = (item.get("status") or {}).get("phase")
        volume = item["spec"].get("volumeName")
        claimed = self._bound(name, volume) if volume else self._unbound(namespace, name, item)
        # Such a claim still counts for running pods.
        if "deletionTimestamp" in item["metadata"]:
            return replace(claimed, obstacle=f"its volume claim {name} is being deleted")
        if phase == "Lost":
            return replace(claimed, obstacle=f"its volume claim {name} has lost its volume")
        if volume and phase == "Pending":
            return replace(claimed, obstacle=f"its volume claim {name} is not bound to its volume yet")
        return claimed

    def _bound(self, name: str, volume: str) -> ClaimedVolume:
        item = self._volumes.get(volume)
        if item is None:
            return ClaimedVolume(obstacle=f"volume {volume} of its claim {name} does not exist")
        required = (item["spec"].get("nodeAffinity") or {}).get("required")
        where = [node_terms(required)] if required else []
        for key, value in (item["metadata"].get("labels") or {}).items():
            if key in ZONES:
                zones = SelectorRequirement(ZONES[key], SelectorOperator.IN, tuple(value.split("__")))
                where.append((NodeSelectorTerm((zones,)), NOWHERE))
        return ClaimedVolume(where=tuple(where), counted=counted_volume(item))

    def _unbound(self, namespace: str, name: str, item: Object) -> ClaimedVolume:
        annotations = item["metadata"].get("annotations") or {}
        named = annotations.get(CLASS_ANNOTATION) or item["spec"].get("storageClassName")
        if not named:
            return ClaimedVolume(obstacle=f"its volume claim {name} has neither a volume nor a storage class")
        class_ = self._classes.get(named)
        if class_ is None:
            return ClaimedVolume(obstacle=f"storage class {named} of its volume claim {name} does not exist")
        if class_.get("volumeBindingMode") != "WaitForFirstConsumer":
            return ClaimedVolume(obstacle=f"its volume claim {name} is not bound to a volume yet")
        free = self._free_volumes(namespace, name, named, item)
        if class_.get("provisioner") == NOT_PROVISIONED:
            if not free:
                return ClaimedVolume(obstacle=f"storage class {named} of its volume claim {name} has no free volume")
            return ClaimedVolume() if None in free else ClaimedVolume(where=(tuple(filter(None, free)),))
        provisioner = str(class_["provisioner"])
        counted = (MIGRATED.get(provisioner, provisioner), f"{namespace}/{name}")
        selected = annotations.get(SELECTED_NODE)
        if selected:
            only = SelectorRequirement("metadata.name", SelectorOperator.IN, (selected,))
            return ClaimedVolume(
                where=((NodeSelectorTerm((), (only,)),), *self._provisioned(class_, item, ())), counted=counted
            )
        if None in free:
            return ClaimedVolume(counted=counted)
        return ClaimedVolume(where=self._provisioned(class_, item, tuple(filter(None, free))), counted=counted)

    def _provisioned(self, class_: Object, claim: Object, free: Terms) -> tuple[Terms, ...]:
        """Return terms of nodes where a volume of a class can be made, or where a ``free`` volume exists
        (``volumebinding``, ``checkVolumeProvisions``)."""
        where: list[Terms] = []
        topologies = tuple(
            NodeSelectorTerm(
                tuple(
                    SelectorRequirement(expression["key"], SelectorOperator.IN, tuple(expression["values"]))
                    for expression in term.get("matchLabelExpressions") or ()
                )
            )
            for term in class_.get("allowedTopologies") or ()
        )
        if topologies:
            where.append((*topologies, *free))
        size = _requested_storage(claim)
        if class_["provisioner"] in self._measured and size is not None:
            spacious = self._spacious(class_["metadata"]["name"], size)
            if NodeSelectorTerm() not in spacious:
                where.append((*spacious, *free) or (NO_STORAGE,))
        return tuple(where)

    def _spacious(self, class_: str, size: int) -> tuple[NodeSelectorTerm, ...]:
        """Return terms of nodes where a class has room for a volume; a term without requirements means all nodes."""
        return tuple(
            NodeSelectorTerm(label_requirements(item["nodeTopology"]))
            for item in self._capacities
            if item["storageClassName"] == class_
            and item.get("nodeTopology") is not None
            and whole(STORAGE, item.get("maximumVolumeSize") or item.get("capacity") or "-1") >= size
        )

    def _free_volumes(self, namespace: str, name: str, class_: str, claim: Object) -> list[NodeSelectorTerm | None]:
        """Return terms of nodes for the existing volumes that suit a claim; None for a volume that all nodes can use
        (k8s.io/component-helpers, ``storage/volume``, ``FindMatchingVolume``)."""
        terms: list[NodeSelectorTerm | None] = []
        for item in self._volumes.values():
            spec = item["spec"]
            of = spec.get("claimRef")
            # A volume of a former claim with this name belongs to no claim now.
            bound = bool(of) and (
                (of.get("namespace"), of.get("name")) == (namespace, name)
                and of.get("uid") in (None, "", claim["metadata"].get("uid"))
            )
            if spec.get("storageClassName") == class_ and (bound or not of) and _suits(item, claim, bound=bound):
                required = (spec.get("nodeAffinity") or {}).get("required")
                terms += node_terms(required) if required else [None]
        return terms


def _default_class(classes: Iterable[Object]) -> Object:
    """Return the field of a claim's spec that claims without a class get: the newest default class (kubernetes 1.36,
    ``pkg/volume/util``, ``GetDefaultClass``)."""
    named = [item["metadata"] for item in classes]
    defaults = [
        metadata
        for metadata in named
        if any((metadata.get("annotations") or {}).get(key) == "true" for key in DEFAULT_CLASS)
    ]
    defaults.sort(key=lambda metadata: str(metadata["name"]))
    defaults.sort(key=lambda metadata: str(metadata.get("creationTimestamp", "")), reverse=True)
    return {"storageClassName": defaults[0]["name"]} if defaults else {}


def _suits(volume: Object, claim: Object, *, bound: bool) -> bool:
    """Return whether a volume has what a claim asks for."""
    offered, asked = volume["spec"], claim["spec"]
    size = _requested_storage(claim) or 0
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


def _requested_storage(claim: Object) -> int | None:
    text = ((claim["spec"].get("resources") or {}).get("requests") or {}).get(STORAGE)
    return None if text is None else whole(STORAGE, text)


def _users(pods: Iterable[Object], single: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the user of each claim that only one pod may use: a pod on a node, or else the waiting pod that the
    scheduler tries first (kubernetes 1.36, ``volumerestrictions``, ``calPreFilterState``)."""
    users: dict[tuple[str, str], tuple[bool, int, str]] = {}
    for pod in pods:
        if pod["spec"].get("schedulingGates"):
            continue
        for volume in pod["spec"].get("volumes") or ():
            key = (pod["metadata"]["namespace"], (volume.get("persistentVolumeClaim") or {}).get("claimName", ""))
            if key in single:
                waits, name = not pod["spec"].get("nodeName"), pod["metadata"]["name"]
                user = (waits, -int(pod["spec"].get("priority") or 0), name)
                users[key] = min(users.get(key, user), user)
    return {key: name for key, (_, _, name) in users.items()}
