"""Claims of volumes: where their pods may be, and why a claim cannot be used yet (kubernetes
1.36, ``pkg/scheduler/framework/plugins``: ``volumebinding``, ``volumezone``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from contract.annotations import SELECTED_NODE
from contract.kubernetes.claims import FIRST_CONSUMER, claim_name
from contract.kubernetes.quantities import whole
from contract.labels import REGION_LABEL, ZONE_LABEL
from services.autoscaler.free_volumes import STORAGE, VolumeStock, class_of, requested_storage
from services.autoscaler.node_terms import label_requirements, node_terms
from services.autoscaler.pod_shapes import FreeVolumes, NodeSelectorTerm, SelectorOperator, SelectorRequirement
from services.autoscaler.volume_counts import IN_TREE, MIGRATED, VolumeId, counted_volume, in_tree_volume

Object = Mapping[str, Any]
Terms = tuple[NodeSelectorTerm, ...]

DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
"""Annotations of the default class, which claims without a class get (kubernetes 1.36, ``pkg/volume/util``,
``IsDefaultAnnotation``)."""
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
    shared: bool = False
    """True when several pods claim it, which a node counts once."""
    free: FreeVolumes | None = None
    """Free volumes of which the claim takes one, if other claims may take them."""
    single: str = ""
    """Namespace and name of a claim for one pod at a time that a waiting pod has."""


class VolumeClaims:
    """Claims, volumes and classes of a cluster."""

    def __init__(self, objects: StorageObjects | None = None, pods: Iterable[Object] = ()) -> None:
        """``pods`` are all pods that have not ended."""
        objects = objects or StorageObjects()
        self._claims = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in objects.claims}
        self._volumes = {item["metadata"]["name"]: item for item in objects.volumes}
        self._stock = VolumeStock(objects.volumes)
        self._classes = {item["metadata"]["name"]: item for item in objects.classes}
        self._measured = {
            item["metadata"]["name"] for item in objects.drivers if (item.get("spec") or {}).get("storageCapacity")
        }
        """Drivers that report their free storage and its place."""
        self._capacities = objects.capacities
        self._default_class = _default_class(objects.classes)
        self._known: dict[tuple[str, str], ClaimedVolume] = {}
        self._users = _users(pods) if self._claims else {}

    def of_pod(self, pod: Object) -> Iterator[ClaimedVolume]:
        """Yield the volumes that a pod claims."""
        metadata = pod["metadata"]
        namespace, owner = str(metadata.get("namespace", "")), metadata.get("uid")
        for volume in pod["spec"].get("volumes") or ():
            name = claim_name(pod, volume)
            if volume.get("persistentVolumeClaim"):
                yield from self._of_pod(pod, namespace, name)
            elif volume.get("ephemeral"):
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

    def _of_pod(self, pod: Object, namespace: str, name: str) -> Iterator[ClaimedVolume]:
        """Yield a volume that a pod claims by name, which other pods may claim too."""
        users, claimed = self._users.get((namespace, name), ()), self._claim(namespace, name)
        # Members of a gang that are not pods yet have a claim together.
        together = len(users) > 1 or "name" not in pod["metadata"]
        free = replace(claimed.free, claim=f"{namespace}/{name}") if claimed.free and together else claimed.free
        item = self._claims.get((namespace, name))
        if item is None or pod["spec"].get("nodeName") or ONE_POD not in (item["spec"].get("accessModes") or ()):
            yield replace(claimed, shared=together, free=free)
            return
        yield replace(claimed, shared=together, free=free, single=f"{namespace}/{name}")
        for user, node in users:
            if node:
                yield ClaimedVolume(obstacle=f"its volume claim {name} is for one pod at a time, and {user} has it")

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
        annotations, named = item["metadata"].get("annotations") or {}, class_of(item)
        if not named:
            return ClaimedVolume(obstacle=f"its volume claim {name} has neither a volume nor a storage class")
        class_ = self._classes.get(named)
        if class_ is None:
            return ClaimedVolume(obstacle=f"storage class {named} of its volume claim {name} does not exist")
        provisioner = str(class_["provisioner"])
        counted = (MIGRATED.get(provisioner, provisioner), f"{namespace}/{name}")
        if class_.get("volumeBindingMode") != FIRST_CONSUMER:
            return ClaimedVolume(obstacle=f"its volume claim {name} is not bound to a volume yet", counted=counted)
        free, somewhere = self._stock.suitable(item, (namespace, name), named)
        if provisioner == NOT_PROVISIONED and not free.choices:
            return ClaimedVolume(obstacle=f"storage class {named} of its volume claim {name} has no free volume")
        if provisioner == NOT_PROVISIONED:
            return ClaimedVolume(where=() if somewhere is None else (somewhere,), free=free)
        selected = annotations.get(SELECTED_NODE)
        provisioned = self._provisioned(class_, item, ())
        if selected:
            only = SelectorRequirement("metadata.name", SelectorOperator.IN, (selected,))
            return ClaimedVolume(where=((NodeSelectorTerm((), (only,)),), *provisioned), counted=counted)
        where = () if somewhere is None else self._provisioned(class_, item, somewhere)
        competes = bool(provisioned and free.choices)
        return ClaimedVolume(
            where=where, counted=counted, free=replace(free, provisioned=provisioned) if competes else None
        )

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
        size = requested_storage(claim)
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


def _users(pods: Iterable[Object]) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return the pods that name each claim, with their nodes."""
    users: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for pod in pods:
        volumes = pod["spec"].get("volumes") or ()
        for name in {(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes}:
            if name:
                user = pod["metadata"]["name"], pod["spec"].get("nodeName") or ""
                users.setdefault((pod["metadata"]["namespace"], name), []).append(user)
    return users
