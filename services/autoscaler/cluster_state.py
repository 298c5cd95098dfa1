"""Reads a cluster: one list of each kind of object, and no request for single objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from components.model.autoscaler.leases import ROLLS
from contract.annotations import MIRROR
from contract.documents.autoscaler_memory import DecisionMemory
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.kubernetes.drain import OVER
from contract.kubernetes.lease import LEASES, holder_of
from contract.kubernetes.paths import CLAIMS, NAMESPACES, NODES, PODS, STORAGE_CLASSES
from contract.labels import TEAM_LABEL
from contract.object_names import AUTOSCALER
from services.autoscaler.cluster_snapshot import ClusterNode, DaemonPod, Gang, PendingPod
from services.autoscaler.decision_memory import DecisionMemoryStore
from services.autoscaler.gang_objects import gang_of_pod, gangs
from services.autoscaler.node_load import budget_of
from services.autoscaler.node_objects import MachineFacts, NodeParser
from services.autoscaler.nominations import nominated_node, valid_nominations
from services.autoscaler.pod_defaults import PodDefaults
from services.autoscaler.pod_objects import Object, ShapeParser
from services.autoscaler.volume_claims import SOURCES, StorageObjects, VolumeClaims
from services.autoscaler.volume_counts import attached_volumes, volume_limits

BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
DAEMON_SETS = "/apis/apps/v1/daemonsets"
REQUESTS = "/apis/autoscaling.x-k8s.io/v1/provisioningrequests"
TEMPLATES = "/api/v1/podtemplates"
LIMIT_RANGES = "/api/v1/limitranges"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
POD_GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
VOLUMES = "/api/v1/persistentvolumes"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
CSI_DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
CAPACITIES = "/apis/storage.k8s.io/v1/csistoragecapacities"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
NAME = AUTOSCALER
"""Name of the autoscaler's lease and of its memory, and prefix of its processes' names as holders of leases."""
SCHEDULER = "kube-scheduler"
"""Name of the scheduler's lease (k8s.io/kubernetes, ``--leader-elect-resource-name``)."""
OPTIONAL = (REQUESTS, POD_GROUPS)
"""Collections that a cluster may lack."""

Items = Callable[[str], Sequence[Object]]
"""Returns the objects of a collection."""


@dataclass(frozen=True, kw_only=True)
class ListedObjects:
    """Listed objects of a cluster."""

    pods: Sequence[Object]
    nodes: Sequence[Object]
    budgets: Sequence[Object] = ()
    daemon_sets: Sequence[Object] = ()
    requests: Sequence[Object] = ()
    templates: Sequence[Object] = ()
    pod_groups: Sequence[Object] = ()
    storage: StorageObjects = field(default_factory=StorageObjects)
    """Objects about volumes; none while no pod claims a volume."""
    limit_ranges: Sequence[Object] = ()
    runtime_classes: Sequence[Object] = ()
    priority_classes: Sequence[Object] = ()
    rolled: frozenset[str] = frozenset()
    """Pools that are being rolled."""
    teams: frozenset[str] = frozenset()
    """Namespaces of teams."""
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Labels of all namespaces."""
    memory: DecisionMemory = field(default_factory=DecisionMemory)
    scheduling: bool = True
    """False when the scheduler's lease has expired."""


@dataclass(frozen=True, kw_only=True)
class ClusterState:
    """State of a cluster as plain values."""

    pods: tuple[PendingPod, ...]
    nodes: tuple[ClusterNode, ...]
    gangs: tuple[Gang, ...]
    daemons: tuple[DaemonPod, ...]


def list_all(api: Api, memory: DecisionMemory | None = None) -> ListedObjects:
    """List all objects that a decision depends on. Without ``memory``, read it from the cluster. Raise ``ApiError``
    when the API refuses or does not answer."""
    known = DecisionMemoryStore(api).read() if memory is None else memory
    return list_objects(lambda path: _listed(api, path), memory=known, now=api.now())


def list_objects(items: Items, *, memory: DecisionMemory, now: datetime) -> ListedObjects:
    """Return all objects that a decision depends on. ``items`` returns the objects of a collection. A pool is being
    rolled while its lease is held by a process that is not an autoscaler."""
    pods = items(PODS)
    leases = {item["metadata"]["name"]: holder_of(dict(item), now) for item in items(LEASES)}
    requests = items(REQUESTS)
    templates = items(TEMPLATES) if requests else ()
    claims = any(map(_claims, pods)) or any(_claims(template["template"]) for template in templates)
    namespaces = {item["metadata"]["name"]: item["metadata"].get("labels") or {} for item in items(NAMESPACES)}
    return ListedObjects(
        pods=pods,
        nodes=items(NODES),
        budgets=items(BUDGETS),
        daemon_sets=items(DAEMON_SETS),
        requests=requests,
        templates=templates,
        pod_groups=items(POD_GROUPS),
        storage=StorageObjects(
            claims=items(CLAIMS),
            volumes=items(VOLUMES),
            classes=items(STORAGE_CLASSES),
            drivers=items(CSI_DRIVERS),
            capacities=items(CAPACITIES),
            attachments=items(ATTACHMENTS),
            csi_nodes=items(CSI_NODES),
        )
        if claims
        else StorageObjects(),
        limit_ranges=items(LIMIT_RANGES),
        runtime_classes=items(RUNTIME_CLASSES),
        priority_classes=items(PRIORITY_CLASSES),
        rolled=frozenset(
            name.removeprefix(ROLLS)
            for name, holder in leases.items()
            if name.startswith(ROLLS) and holder and not holder.startswith(f"{NAME}/")
        ),
        teams=frozenset(name for name, labels in namespaces.items() if TEAM_LABEL in labels),
        namespaces=namespaces,
        memory=memory,
        scheduling=bool(leases.get(SCHEDULER, SCHEDULER)),
    )


def _listed(api: Api, path: str) -> list[Object]:
    try:
        return list(api.items(path))
    except ApiError as error:
        if error.status == 404 and path in OPTIONAL:
            return []
        raise


def cluster_state(
    listed: ListedObjects,
    *,
    machines: Mapping[str, MachineFacts],
    taints: Mapping[str, frozenset[tuple[str, str]]],
    now: datetime,
    startup: Mapping[str, frozenset[tuple[str, str]]] | None = None,
) -> ClusterState:
    """Return listed objects as plain values. ``machines`` are the machines of all groups by node name. ``taints`` are
    key and effect of the taints that a pool's nodes always have, by the pool's name on nodes; ``startup`` are their
    startup taints in the same form."""
    active = (pod for pod in listed.pods if pod.get("status", {}).get("phase") not in OVER)
    shapes = ShapeParser(VolumeClaims(listed.storage, active), listed.namespaces)
    defaults = PodDefaults(
        limit_ranges=listed.limit_ranges,
        runtime_classes=listed.runtime_classes,
        priority_classes=listed.priority_classes,
    )
    budgets = [budget for budget in map(budget_of, listed.budgets) if budget]
    nodes = NodeParser(
        shapes,
        budgets=budgets,
        machines=machines,
        taints=taints,
        now=now,
        startup=startup,
        limits=volume_limits(listed.storage.csi_nodes),
        attached=attached_volumes(listed.storage.volumes, listed.storage.attachments),
    )
    on: dict[str, list[Object]] = {}
    running: dict[str, list[Object]] = {}
    over: dict[str, list[Object]] = {}
    waiting: list[Object] = []
    for pod in listed.pods:
        name = pod["spec"].get("nodeName")
        if pod.get("status", {}).get("phase") in OVER:
            if pod["status"]["phase"] == "Succeeded" and (gang := gang_of_pod(pod)):
                over.setdefault(gang, []).append(pod)
            continue
        if name:
            on.setdefault(name, []).append(pod)
            gang = gang_of_pod(pod)
            if gang:
                running.setdefault(gang, []).append(pod)
        elif is_pending(pod):
            waiting.append(pod)
    templates = {
        (template["metadata"]["namespace"], template["metadata"]["name"]): template for template in listed.templates
    }
    parsed = tuple(nodes.parse(item, on.get(item["metadata"]["name"], ())) for item in listed.nodes)
    return ClusterState(
        pods=valid_nominations([_pod(item, shapes) for item in waiting], parsed, on),
        nodes=parsed,
        gangs=tuple(
            gangs(
                listed.requests,
                listed.pod_groups,
                templates=templates,
                running=running,
                over=over,
                shapes=shapes,
                defaults=defaults,
                now=now,
            )
        ),
        daemons=tuple(_daemons(listed, shapes, defaults)),
    )


def is_pending(item: Object) -> bool:
    """Return whether a pod waits for a node and may get one: it has no scheduling gate, is not being deleted, and does
    not belong to one particular node."""
    metadata, spec = item["metadata"], item["spec"]
    owners = metadata.get("ownerReferences") or ()
    of_node = MIRROR in (metadata.get("annotations") or {}) or any(owner["kind"] == "DaemonSet" for owner in owners)
    blocked = spec.get("schedulingGates") or "deletionTimestamp" in metadata or spec.get("nodeName")
    return not of_node and not blocked and item.get("status", {}).get("phase", "Pending") == "Pending"


def _pod(item: Object, shapes: ShapeParser) -> PendingPod:
    metadata = item["metadata"]
    return PendingPod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        shape=shapes.parse(item),
        priority=int(item["spec"].get("priority") or 0),
        labels=tuple(sorted((metadata.get("labels") or {}).items())),
        gang=gang_of_pod(item),
        nominated=nominated_node(item),
    )


def _daemons(listed: ListedObjects, shapes: ShapeParser, defaults: PodDefaults) -> Iterator[DaemonPod]:
    """Yield the pods of daemon sets, teams' pods last. A team's daemon set that has no pod on any of its nodes is left
    out: something, such as a quota, keeps its pods from being made."""

    def order(item: Object) -> tuple[bool, str, str]:
        metadata = item["metadata"]
        return metadata["namespace"] in listed.teams, metadata["namespace"], metadata["name"]

    for item in sorted(listed.daemon_sets, key=order):
        namespace, status = item["metadata"]["namespace"], item.get("status") or {}
        made = status.get("currentNumberScheduled", 0) or not status.get("desiredNumberScheduled", 0)
        if made or namespace not in listed.teams:
            pod = defaults.pod(item["spec"]["template"], namespace)
            yield DaemonPod(
                # It is on a node before the pods for which its node is made.
                shape=shapes.parse(pod, waits=False),
                name=f"{namespace}/{item['metadata']['name']}",
                namespace=namespace,
                labels=tuple(sorted((pod["metadata"].get("labels") or {}).items())),
            )


def _claims(item: Object) -> bool:
    volumes = item["spec"].get("volumes")
    return bool(volumes) and not all(SOURCES.isdisjoint(volume) for volume in volumes)
