"""Gangs in the API: ProvisioningRequests of Longhaul's class, PodGroups, and the pods that name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from contract.kubernetes.times import parse_time
from contract.labels import GROUP_LABEL, SITE_LABEL, ZONE_LABEL
from contract.object_names import GANGS
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.cluster_snapshot import Gang, PodSet
from services.autoscaler.pod_defaults import PodDefaults
from services.autoscaler.pod_objects import Object, ShapeParser

CONSUMES = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
"""Annotations of a pod that uses the room of a ProvisioningRequest (github.com/kubernetes/autoscaler,
cluster-autoscaler/FAQ.md, "How can I use ProvisioningRequest"); the second is the former name."""
POD_GROUP = "scheduling.x-k8s.io/pod-group"
"""Label of a pod that belongs to a PodGroup (github.com/kubernetes-sigs/scheduler-plugins, coscheduling)."""
WITHIN = "within"
"""Parameter of a ProvisioningRequest: ``site``, ``zone``, ``block``, or a label's key."""
PLACES = {"site": SITE_LABEL, "zone": ZONE_LABEL, "block": GROUP_LABEL}
HELD = timedelta(minutes=10)
"""Time for which granted room is reserved until pods come, as in the upstream autoscaler."""
OVER = ("Failed", "BookingExpired", "CapacityRevoked")
"""Conditions of a request that needs nothing any more (k8s.io/autoscaler, ``provisioningrequest`` API)."""


def gang_of_pod(item: Object) -> str:
    """Return the name of a pod's gang; empty when it has none."""
    metadata = item["metadata"]
    annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    request = next((annotations[key] for key in CONSUMES if annotations.get(key)), "")
    named = request or labels.get(POD_GROUP, "")
    return f"{metadata['namespace']}/{named}" if named else ""


def gangs(
    requests: Iterable[Object],
    groups: Iterable[Object],
    *,
    templates: Mapping[tuple[str, str], Object],
    running: Mapping[str, list[Object]],
    over: Mapping[str, list[Object]],
    shapes: ShapeParser,
    defaults: PodDefaults,
    now: datetime,
) -> list[Gang]:
    """Return every gang that needs something. ``templates`` are pods' templates by namespace and name; ``running`` and
    ``over`` are the members that run and that have succeeded, by gang name."""
    complete = []
    for item in requests:
        gang = _request(item, templates, running, over, shapes, defaults, now)
        if gang is not None:
            complete.append(gang)
    for item in groups:
        name = _name(item)
        created = parse_time(item["metadata"].get("creationTimestamp", ""))
        least = int((item.get("spec") or {}).get("minMember") or 0)
        came = len(over.get(name, ()))
        complete.append(Gang(name=name, created=created, on=_on(running.get(name, ())), least=max(0, least - came)))
    return complete


def has_expired(item: Object, now: datetime) -> bool:
    """Return whether a granted request's reservation has expired, and the request does not say so yet."""
    conditions = {condition["type"]: condition for condition in (item.get("status") or {}).get("conditions") or ()}
    true = {type_ for type_, condition in conditions.items() if condition.get("status") == "True"}
    if item["spec"].get("provisioningClassName") != GANGS or "Provisioned" not in true or true.intersection(OVER):
        return False
    at = parse_time(str(conditions["Provisioned"].get("lastTransitionTime") or ""))
    return at is not None and now - at > HELD


def _request(
    item: Object,
    templates: Mapping[tuple[str, str], Object],
    running: Mapping[str, list[Object]],
    over: Mapping[str, list[Object]],
    shapes: ShapeParser,
    defaults: PodDefaults,
    now: datetime,
) -> Gang | None:
    spec, name = item["spec"], _name(item)
    conditions = {condition["type"]: condition for condition in (item.get("status") or {}).get("conditions") or ()}
    true = {type_ for type_, condition in conditions.items() if condition.get("status") == "True"}
    if spec.get("provisioningClassName") != GANGS or true.intersection(OVER):
        return None
    granted = "Provisioned" in true
    at = parse_time(str(conditions.get("Provisioned", {}).get("lastTransitionTime") or ""))
    if granted and (at is None or now - at > HELD):
        return None
    namespace = item["metadata"]["namespace"]
    sets, unknown, priorities = [], [], [0]
    for pod_set in spec.get("podSets") or ():
        template = templates.get((namespace, pod_set["podTemplateRef"]["name"]))
        if template is None:
            message = f"its pod template {pod_set['podTemplateRef']['name']} does not exist"
            unknown.append(Obstacle(WaitReason.TEMPLATE_MISSING, message))
        else:
            pod = defaults.pod(template["template"], namespace)
            labels = tuple(sorted((pod["metadata"].get("labels") or {}).items()))
            sets.append(PodSet(shape=shapes.parse(pod), count=int(pod_set["count"]), identity=(namespace, labels)))
            unknown += defaults.missing(pod["spec"])
            priorities.append(defaults.priority(pod["spec"]))
    asked = str((spec.get("parameters") or {}).get(WITHIN) or "")
    within = PLACES.get(asked, asked if "/" in asked else "")
    if asked and not within:
        message = f"within {asked!r} is neither {', '.join(PLACES)} nor a label's key"
        unknown.append(Obstacle(WaitReason.NOT_UNDERSTOOD, message))
    return Gang(
        name=name,
        sets=tuple(sets),
        within=within,
        priority=max(priorities),
        created=parse_time(item["metadata"].get("creationTimestamp", "")),
        request=True,
        granted=granted,
        on=_on(running.get(name, ())),
        runs=tuple(shapes.parse(pod) for pod in (*running.get(name, ()), *over.get(name, ()))),
        unknown=tuple(unknown),
    )


def _on(pods: Iterable[Object]) -> tuple[str, ...]:
    return tuple(sorted(pod["spec"]["nodeName"] for pod in pods))


def _name(item: Object) -> str:
    return f"{item['metadata']['namespace']}/{item['metadata']['name']}"
