"""All objects that a decision depends on, kept up to date by watches. Some changes make a decision due at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime

from contract.annotations import KEEP, ROLL, SCALE_IN
from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.drain import OVER
from contract.kubernetes.lease import LEASES
from contract.kubernetes.paths import CLAIMS, NAMESPACES, NODES, PODS, STORAGE_CLASSES
from contract.kubernetes.readiness import is_ready
from contract.kubernetes.watch import Watch, following
from services.autoscaler.cluster_state import (
    ATTACHMENTS,
    BUDGETS,
    CAPACITIES,
    CSI_DRIVERS,
    CSI_NODES,
    DAEMON_SETS,
    LIMIT_RANGES,
    OPTIONAL,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    TEMPLATES,
    VOLUMES,
    ListedObjects,
    is_pending,
    list_objects,
)
from services.autoscaler.gang_objects import gang_of_pod
from services.pod_requests import is_resized

CONTAINER = ("name", "resources", "ports", "restartPolicy", "restartPolicyRules")
"""Fields of a container that matter to a decision."""
POD = (
    "affinity", "nodeName", "nodeSelector", "overhead", "preemptionPolicy", "priority", "resourceClaims", "resources",
    "schedulerName", "schedulingGates", "tolerations", "topologySpreadConstraints",
)  # fmt: skip
"""Fields of a pod that matter to a decision, in addition to its containers and volumes."""
REPORT = ("name", "resources", "allocatedResources")
"""Fields of a container's status that matter while it is resized."""
READY = [{"type": "Ready", "status": "True"}]
"""Conditions of a ready pod."""
NODE_STATUS = ("allocatable", "conditions", "declaredFeatures")


class WatchedLists:
    """The objects of a cluster that a decision depends on."""

    def __init__(self, api: Api, wake: Callable[[], None]) -> None:
        """``wake`` is called after a change that makes a decision due."""
        self._api, self._wake = api, wake
        self._watches = {
            PODS: Watch(api, PODS, keep=slim_pod, changed=self._pod),
            NODES: Watch(api, NODES, keep=slim_node, changed=self._node),
            **{
                path: Watch(api, path, keep=slim, changed=self._other, known=path not in OPTIONAL)
                for path in (
                    ATTACHMENTS,
                    CAPACITIES,
                    CSI_DRIVERS,
                    CSI_NODES,
                    STORAGE_CLASSES,
                    BUDGETS,
                    CLAIMS,
                    DAEMON_SETS,
                    LIMIT_RANGES,
                    NAMESPACES,
                    PRIORITY_CLASSES,
                    RUNTIME_CLASSES,
                    TEMPLATES,
                    VOLUMES,
                    *OPTIONAL,
                )
            },
            LEASES: Watch(api, LEASES, keep=slim),
        }

    def followed(self) -> AbstractContextManager[None]:
        """Watch all collections during the block."""
        return following(self._api, [watch.run for watch in self._watches.values()])

    def synced(self) -> bool:
        """Return whether everything has been listed once."""
        return all(watch.synced.is_set() for watch in self._watches.values())

    def listed(self, memory: DecisionMemory, now: datetime) -> ListedObjects:
        """Return the objects. Raise ``ApiError`` while a watch is interrupted, since a decision on outdated objects
        could be wrong."""
        for path, watch in self._watches.items():
            if watch.trouble:
                raise ApiError(f"{path} is not followed: {watch.trouble}")
        return list_objects(lambda path: self._watches[path].objects(), memory=memory, now=now)

    def _pod(self, before: Object | None, after: Object | None) -> None:
        if after is not None and is_pending(after) and not (before is not None and is_pending(before)):
            self._wake()

    def _node(self, before: Object | None, after: Object | None) -> None:
        if before is None or after is None or makes_decision_due(before, after):
            self._wake()

    def _other(self, before: Object | None, after: Object | None) -> None:
        kind = (after or before or {}).get("spec") or {}
        if "provisioningClassName" in kind and (before is None or before.get("spec") != kind):
            self._wake()


def slim(item: Object) -> Object:
    """Return an object without its managed fields."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return {**item, "metadata": metadata}


def slim_pod(item: Object) -> Object | None:
    """Return the fields of a pod that matter; None when it has ended. A gang's member that has succeeded is kept, since
    it still counts for the gang."""
    status = item.get("status") or {}
    if status.get("phase") in OVER and not (status["phase"] == "Succeeded" and gang_of_pod(item)):
        return None
    spec = item["spec"]
    kept = {key: spec[key] for key in POD if key in spec}
    for key in ("containers", "initContainers"):
        if key in spec:
            kept[key] = [{name: container[name] for name in CONTAINER if name in container} for container in spec[key]]
    if "volumes" in spec:
        kept["volumes"] = [volume for volume in spec["volumes"] if "projected" not in volume]
    shown = {key: status[key] for key in ("phase", "nominatedNodeName") if key in status}
    if spec.get("nodeName"):
        shown |= _resized(item)
        if is_ready(item):
            shown["conditions"] = [*shown.get("conditions", ()), *READY]
    return {"metadata": slim(item)["metadata"], "spec": kept, "status": shown}


def _resized(item: Object) -> Object:
    """Return the fields of a pod's status by which it counts while it is resized."""
    if not is_resized(item):
        return {}
    status = item["status"]
    kept = {key: status[key] for key in ("resources", "allocatedResources") if key in status}
    for key in ("containerStatuses", "initContainerStatuses"):
        if key in status:
            reports = status[key]
            kept[key] = [{name: report[name] for name in REPORT if name in report} for report in reports]
    pending = [condition for condition in status.get("conditions") or () if condition["type"] == "PodResizePending"]
    return {**kept, "conditions": pending}


def slim_node(item: Object) -> Object:
    """Return the fields of a node that matter."""
    status = item.get("status") or {}
    shown = {key: status[key] for key in NODE_STATUS if key in status}
    return {"metadata": slim(item)["metadata"], "spec": item["spec"], "status": shown}


def makes_decision_due(before: Object, after: Object) -> bool:
    """Return whether a change of a node makes a decision due. Times of kubelets' reports and other programs'
    annotations do not: Kubernetes itself changes an annotation of every node when a cluster grows."""
    return _telling(before) != _telling(after)


def _telling(node: Object) -> tuple[object, ...]:
    annotations = node["metadata"].get("annotations") or {}
    ours = [annotations.get(name) for name in (KEEP, SCALE_IN, ROLL)]
    conditions = [(condition["type"], condition["status"]) for condition in node["status"].get("conditions") or ()]
    return node["spec"], ours, node["status"].get("allocatable"), conditions
