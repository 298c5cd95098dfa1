"""Volumes that nodes count, and nodes' limits of them (kubernetes 1.36, ``nodevolumelimits``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from services.autoscaler.pod_shapes import VOLUMES_OF

Object = Mapping[str, Any]
VolumeId = tuple[str, str]
"""Driver and id by which a node counts a volume."""

EBS, AZURE_DISK = "ebs.csi.aws.com", "disk.csi.azure.com"
MIGRATED = {"kubernetes.io/aws-ebs": EBS, "kubernetes.io/azure-disk": AZURE_DISK}
"""Drivers that stand for Kubernetes' former own provisioners (k8s.io/csi-translation-lib, ``plugins``)."""
IN_TREE = ("awsElasticBlockStore", "azureDisk")
"""Types of volumes that Kubernetes once attached itself, and that these drivers attach now."""


def counted_volume(volume: Object) -> VolumeId | None:
    """Return the id by which a node counts a volume; None when nodes do not count the volume."""
    csi = volume["spec"].get("csi")
    return (csi["driver"], _handle(volume)) if csi else in_tree_volume(volume["spec"])


def in_tree_volume(source: Object) -> VolumeId | None:
    """Return the id of a volume that Kubernetes once attached itself; None for any other volume
    (``TranslateInTreePVToCSI``)."""
    if disk := source.get("awsElasticBlockStore"):
        return EBS, str(disk["volumeID"]).rpartition("/")[2]
    disk = source.get("azureDisk")
    return (AZURE_DISK, str(disk["diskURI"])) if disk and disk.get("kind", "").lower() == "managed" else None


def _handle(volume: Object) -> str:
    """Return the id that a CSI driver has for a volume."""
    return str(volume["spec"]["csi"].get("volumeHandle") or volume["metadata"]["name"])


def attached_volumes(volumes: Iterable[Object], attachments: Iterable[Object]) -> dict[str, list[VolumeId]]:
    """Return the volumes that are attached to nodes, by node: they count whether or not a pod uses them
    (``nodevolumelimits``, ``getNodeVolumeAttachmentInfo``)."""
    handles = {item["metadata"]["name"]: _handle(item) for item in volumes if item["spec"].get("csi")}
    attached: dict[str, list[VolumeId]] = {}
    for item in attachments:
        spec = item["spec"]
        handle = handles.get((spec.get("source") or {}).get("persistentVolumeName", ""))
        if handle:
            attached.setdefault(spec["nodeName"], []).append((spec["attacher"], handle))
    return attached


def volume_counts(volumes: Iterable[VolumeId]) -> dict[str, int]:
    """Return the number of different volumes by the name of the nodes' limit for them."""
    counts: dict[str, int] = {}
    for driver, _ in {*volumes}:
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
