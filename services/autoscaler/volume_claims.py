"""Claims of volumes: where their pods may be, why a claim cannot be used yet, and which volumes a node counts
(kubernetes 1.36, ``pkg/scheduler/framework/plugins``: ``volumebinding``, ``volumezone``, ``nodevolumelimits``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract.labels import REGION_LABEL, ZONE_LABEL
from services.autoscaler.node_terms import node_terms
from services.autoscaler.pod_shapes import VOLUMES_OF, NodeSelectorTerm, SelectorOperator, SelectorRequirement

Object = Mapping[str, Any]
Terms = tuple[NodeSelectorTerm, ...]

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NOT_PROVISIONED = "kubernetes.io/no-provisioner"
ZONES = {
    "failure-domain.beta.kubernetes.io/zone": ZONE_LABEL,
    "failure-domain.beta.kubernetes.io/region": REGION_LABEL,
    ZONE_LABEL: ZONE_LABEL,
    REGION_LABEL: REGION_LABEL,
}
"""Labels of a volume that its nodes must have, with the nodes' label (``volumezone``, ``translateToGALabel``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedVolume:
    """A volume as a pod claims it."""

    where: tuple[Terms, ...] = ()
    """Groups of alternatives; one term of each must hold on the node."""
    obstacle: str = ""
    """Reason why it cannot be used yet; empty when it can."""
    counted: tuple[str, str] | None = None
    """Driver and name by which a node counts it; None for one that is not counted."""


class VolumeClaims:
    """Claims, volumes and classes of a cluster."""

    def __init__(
        self, claims: Iterable[Object] = (), volumes: Iterable[Object] = (), classes: Iterable[Object] = ()
    ) -> None:
        self._claims = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in claims}
        self._volumes = {item["metadata"]["name"]: item for item in volumes}
        self._classes = {item["metadata"]["name"]: item for item in classes}
        self._known: dict[tuple[str, str], ClaimedVolume] = {}

    def of_pod(self, pod: Object) -> Iterator[ClaimedVolume]:
        """Yield the volumes that a pod claims."""
        metadata = pod["metadata"]
        namespace, owner = str(metadata.get("namespace", "")), metadata.get("uid")
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("persistentVolumeClaim"):
                name = volume["persistentVolumeClaim"]["claimName"]
                yield self._claim(namespace, name)
            elif volume.get("ephemeral"):
                name = f"{metadata.get('name', '')}-{volume['name']}"
                item = self._claims.get((namespace, name))
                owners = item["metadata"].get("ownerReferences") or () if item else ()
                if item is None:
                    # It is made after its pod, or with it.
                    template = volume["ephemeral"].get("volumeClaimTemplate") or {}
                    claim = {
                        "metadata": {"annotations": {}, **(template.get("metadata") or {})},
                        "spec": template["spec"],
                    }
                    yield self._parsed(namespace, name, claim)
                elif owner and not any(reference.get("uid") == owner for reference in owners):
                    yield ClaimedVolume(obstacle=f"its volume claim {name} is not its own")
                else:
                    yield self._claim(namespace, name)

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
        if "deletionTimestamp" in item["metadata"]:
            return ClaimedVolume(obstacle=f"its volume claim {name} is being deleted")
        if phase == "Lost":
            return ClaimedVolume(obstacle=f"its volume claim {name} has lost its volume")
        if volume and phase == "Pending":
            return ClaimedVolume(obstacle=f"its volume claim {name} is not bound to its volume yet")
        return self._bound(name, volume) if volume else self._unbound(namespace, name, item)

    def _bound(self, name: str, volume: str) -> ClaimedVolume:
        item = self._volumes.get(volume)
        if item is None:
            return ClaimedVolume(obstacle=f"volume {volume} of its claim {name} does not exist")
        required = (item["spec"].get("nodeAffinity") or {}).get("required")
        where = [node_terms(required)] if required else []
        for key, value in (item["metadata"].get("labels") or {}).items():
            if key in ZONES:
                zones = SelectorRequirement(ZONES[key], SelectorOperator.IN, tuple(value.split("__")))
                where.append((NodeSelectorTerm((zones,)),))
        csi = item["spec"].get("csi")
        counted = (csi["driver"], str(csi.get("volumeHandle") or volume)) if csi else None
        return ClaimedVolume(where=tuple(where), counted=counted)

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
        selected = annotations.get(SELECTED_NODE)
        where: list[Terms] = []
        if selected:
            only = SelectorRequirement("metadata.name", SelectorOperator.IN, (selected,))
            where.append((NodeSelectorTerm((), (only,)),))
        if class_.get("provisioner") == NOT_PROVISIONED:
            return self._from_free_volumes(namespace, name, named)
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
            where.append(topologies)
        return ClaimedVolume(where=tuple(where), counted=(str(class_["provisioner"]), f"{namespace}/{name}"))

    def _from_free_volumes(self, namespace: str, name: str, class_: str) -> ClaimedVolume:
        """Return where volumes of a class are that nobody makes on demand, such as local disks."""
        terms: list[NodeSelectorTerm] = []
        free = False
        for item in self._volumes.values():
            claim = item["spec"].get("claimRef")
            mine = claim and (claim.get("namespace"), claim.get("name")) == (namespace, name)
            if item["spec"].get("storageClassName") == class_ and (mine or not claim):
                required = (item["spec"].get("nodeAffinity") or {}).get("required")
                if not required:
                    return ClaimedVolume()
                free = True
                terms += node_terms(required)
        if not free:
            return ClaimedVolume(obstacle=f"storage class {class_} of its volume claim {name} has no free volume")
        return ClaimedVolume(where=(tuple(terms),))


def volume_counts(volumes: Iterable[ClaimedVolume]) -> dict[str, int]:
    """Return the number of different volumes by the name of the nodes' limit for them."""
    counts: dict[str, int] = {}
    for driver, _ in {volume.counted for volume in volumes if volume.counted}:
        counts[VOLUMES_OF + driver] = counts.get(VOLUMES_OF + driver, 0) + 1
    return counts


def volume_limits(csi_nodes: Iterable[Object]) -> dict[str, dict[str, int]]:
    """Return the numbers of volumes that nodes allow, by node (``nodevolumelimits``, ``getVolumeLimits``)."""
    limits: dict[str, dict[str, int]] = {}
    for item in csi_nodes:
        for driver in item["spec"].get("drivers") or ():
            count = (driver.get("allocatable") or {}).get("count")
            if count is not None:
                limits.setdefault(item["metadata"]["name"], {})[VOLUMES_OF + driver["name"]] = int(count)
    return limits
