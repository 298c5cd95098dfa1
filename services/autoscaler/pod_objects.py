"""Pod objects of the API as shapes. An unsupported demand becomes an entry of ``PodShape.unknown``, never a guess."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from contract.labels import HOSTNAME_LABEL
from contract.reasons.autoscaler import Obstacle, WaitReason
from services.autoscaler.node_terms import label_requirements, node_terms
from services.autoscaler.pod_shapes import (
    COMMON,
    DECLARES,
    PODS,
    RESTARTS_ALL,
    AntiAffinity,
    HostSpread,
    NodeConstraints,
    NodeSelectorTerm,
    PodShape,
    SelectorOperator,
    SelectorRequirement,
    Toleration,
    amounts,
)
from services.autoscaler.scheduling_rules import is_fulfilled
from services.autoscaler.volume_claims import VolumeClaims
from services.autoscaler.volume_counts import volume_counts
from services.pod_requests import requests

Object = Mapping[str, Any]


MOST_APART, MOST_RESOURCES = 8, 16
"""Maximum numbers of anti-affinities and of resources of a pod that are supported. Each is compared with every node in
every pass, so one pod with thousands would delay everybody."""
SCHEDULER = "default-scheduler"
"""Name by which pods ask for kube-scheduler (k8s.io/api/core/v1, ``DefaultSchedulerName``)."""
EXCLUSIVE = ("awsElasticBlockStore", "gcePersistentDisk", "iscsi", "rbd")
"""Volumes without claims that pods on one node cannot share (kubernetes 1.36, ``volumerestrictions``,
``isVolumeConflict``)."""
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - compared, never listened on
TOO_MANY_APART = f"it keeps apart from more than {MOST_APART} kinds of pods, which is not supported"
TOO_MANY_RESOURCES = f"it asks for more than {MOST_RESOURCES} resources, which is not supported"


class ShapeParser:
    """Parser of pods' shapes. Equal shapes share one object."""

    def __init__(
        self, claims: VolumeClaims | None = None, namespaces: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """``namespaces`` are the labels of all namespaces."""
        self.claims, self._namespaces = claims or VolumeClaims(), namespaces or {}
        self._known: dict[PodShape, PodShape] = {}

    def parse(self, pod: Object, *, waits: bool | None = None) -> PodShape:
        """Return the shape of a pod, or of a pod template. ``waits`` tells whether it is a pod that the scheduler is to
        place, or one that runs; by default, whether it has no node."""
        spec, namespace = pod["spec"], str(pod["metadata"].get("namespace", ""))
        affinity = spec.get("affinity") or {}
        volumes = tuple(self.claims.of_pod(pod)) if spec.get("volumes") else ()
        where, unknown = _where(spec, affinity, [volume.where for volume in volumes])
        labels = pod["metadata"].get("labels") or {}
        waits = not spec.get("nodeName") if waits is None else waits
        terms, strange = self._apart(namespace, labels, affinity, waits=waits)
        spreads, uneven = _spreads(namespace, labels, spec)
        counted = [(volume.counted, volume.shared) for volume in volumes if volume.counted]
        asked = requests(spec) | volume_counts(counted_volume for counted_volume, shared in counted if not shared)
        if len(asked) > MOST_RESOURCES:
            strange.append(TOO_MANY_RESOURCES)
            asked = {name: amount for name, amount in asked.items() if name in COMMON}
        shape = PodShape(
            requests=amounts({**asked, PODS: 1}),
            where=where,
            apart=tuple(term for term in terms if term.key == HOSTNAME_LABEL),
            wide=tuple(term for term in terms if term.key != HOSTNAME_LABEL),
            spreads=spreads,
            ports=tuple(sorted(_ports(spec))),
            free_volumes=tuple(sorted((v.free for v in volumes if v.free), key=lambda free: free.size)),
            shared_volumes=tuple(sorted({counted_volume for counted_volume, shared in counted if shared})),
            single_claims=tuple(sorted({volume.single for volume in volumes if volume.single})),
            unknown=tuple(
                dict.fromkeys(
                    [
                        *(
                            Obstacle(WaitReason.NOT_UNDERSTOOD, why)
                            for why in (*unknown, *strange, *uneven, *_unknown(spec))
                        ),
                        *(Obstacle(WaitReason.CLAIM_MISSING, volume.obstacle) for volume in volumes if volume.obstacle),
                    ]
                )
            ),
        )
        return self._known.setdefault(shape, shape)

    def _apart(
        self, namespace: str, labels: Mapping[str, str], affinity: Object, *, waits: bool
    ) -> tuple[tuple[AntiAffinity, ...], list[str]]:
        """Return a pod's anti-affinities, and its unsupported demands about other pods."""
        rules: list[AntiAffinity] = []
        unknown: list[str] = []
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        if (affinity.get("podAffinity") or {}).get(required):
            unknown.append("it has to be near other pods (podAffinity), which is not supported")
        for term in (affinity.get("podAntiAffinity") or {}).get(required) or ():
            key = term["topologyKey"]
            if key != HOSTNAME_LABEL:
                unknown.append(f"it keeps apart by {key}, which is not supported")
            if term.get("labelSelector") is not None:
                rules.append(
                    AntiAffinity(self._spaces(namespace, term, waits=waits), _with_label_keys(term, labels), key)
                )
        rules = list(dict.fromkeys(rules))
        if len(rules) > MOST_APART or any(len(rule.labels) > MOST_APART for rule in rules):
            return (), [*unknown, TOO_MANY_APART]
        return tuple(rules), unknown

    def _spaces(self, namespace: str, term: Object, *, waits: bool) -> tuple[str, ...] | None:
        """Return the namespaces of an anti-affinity's term; None for all. For a pod that ``waits``, the scheduler
        treats a selector that namespaces without labels fulfil as a selector of all namespaces
        (github.com/kubernetes/kubernetes, issue 141526; kubernetes 1.36 has this fault)."""
        named, selector = term.get("namespaces") or (), term.get("namespaceSelector")
        if selector is None:
            return tuple(sorted(named or (namespace,)))
        if not selector:
            return None
        wanted = label_requirements(selector)
        if waits and all(is_fulfilled(requirement, {}) for requirement in wanted):
            return None
        matches = (
            name
            for name, labels in self._namespaces.items()
            if all(is_fulfilled(requirement, labels) for requirement in wanted)
        )
        return tuple(sorted({*named, *matches}))


def _with_label_keys(term: Object, labels: Mapping[str, str]) -> tuple[SelectorRequirement, ...]:
    """Return the requirements of a term's selector, and the requirements that its label keys make from the pod's own
    labels. The API has already written the latter into the selector of a pod, but not of a template (kubernetes 1.36,
    ``pkg/registry/core/pod``, ``applyLabelKeysToLabelSelector``)."""
    keys = [(SelectorOperator.IN, key) for key in term.get("matchLabelKeys") or ()]
    keys += [(SelectorOperator.NOT_IN, key) for key in term.get("mismatchLabelKeys") or ()]
    further = [SelectorRequirement(key, operator, (labels[key],)) for operator, key in keys if key in labels]
    return tuple(dict.fromkeys((*label_requirements(term.get("labelSelector") or {}), *further)))


def _spreads(namespace: str, labels: Mapping[str, str], spec: Object) -> tuple[tuple[HostSpread, ...], list[str]]:
    """Return a pod's spreadings over hosts, and its unsupported demands for spreading. A constraint without a selector
    counts no pods (kubernetes 1.36, ``podtopologyspread``, ``countPodsMatchSelector``)."""
    spreads: list[HostSpread] = []
    unknown: list[str] = []
    for item in spec.get("topologySpreadConstraints") or ():
        if item.get("whenUnsatisfiable") != "DoNotSchedule":
            continue
        wanted = _with_label_keys(item, labels)
        if item["topologyKey"] != HOSTNAME_LABEL:
            unknown.append(f"it has to be spread over {item['topologyKey']}, which is not supported")
        elif wanted and item.get("labelSelector") is not None:
            spreads.append(
                HostSpread(
                    counted=AntiAffinity((namespace,), wanted),
                    max_skew=int(item.get("maxSkew") or 1),
                    itself=all(is_fulfilled(requirement, labels) for requirement in wanted),
                    min_domains=int(item.get("minDomains") or 1),
                    by_labels=item.get("nodeAffinityPolicy") != "Ignore",
                    by_taints=item.get("nodeTaintsPolicy") == "Honor",
                )
            )
    return tuple(dict.fromkeys(spreads)), unknown


def _where(
    spec: Object, affinity: Object, volumes: Iterable[tuple[tuple[NodeSelectorTerm, ...], ...]]
) -> tuple[NodeConstraints, list[str]]:
    selector = tuple(
        SelectorRequirement(key, SelectorOperator.IN, (value,))
        for key, value in sorted((spec.get("nodeSelector") or {}).items())
    )
    required = (affinity.get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    node_rules = [node_terms(required)] if required else []
    tolerations: list[Toleration] = []
    unknown: list[str] = []
    for toleration in spec.get("tolerations") or ():
        operator = toleration.get("operator") or "Equal"
        if operator not in ("Equal", "Exists"):
            unknown.append(f"it tolerates taints by {operator}, which is not supported")
            continue
        value = None if operator == "Exists" else str(toleration.get("value") or "")
        tolerations.append(Toleration(str(toleration.get("key") or ""), value, str(toleration.get("effect") or "")))
    features = (SelectorRequirement(DECLARES + RESTARTS_ALL, SelectorOperator.EXISTS),) if _restarts_all(spec) else ()
    return NodeConstraints(
        selector=selector,
        affinity=tuple(node_rules),
        tolerations=tuple(dict.fromkeys(tolerations)),
        volumes=tuple(terms for alternatives in volumes for terms in alternatives),
        features=features,
    ), unknown


def _restarts_all(spec: Object) -> bool:
    """Return whether the end of a container restarts all of the pod's containers, a feature that kubelets declare
    (k8s.io/component-helpers, ``nodedeclaredfeatures``, ``restartallcontainers``)."""
    return any(
        rule.get("action") == "RestartAllContainers"
        for containers in (spec.get("containers") or (), spec.get("initContainers") or ())
        for container in containers
        if "restartPolicyRules" in container
        for rule in container["restartPolicyRules"] or ()
    )


def _ports(spec: Object) -> Iterator[str]:
    """Yield the node ports that a pod uses (kubernetes 1.36, ``pkg/scheduler/util``, ``GetHostPorts``)."""
    for container in lasting_containers(spec):
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                address = port.get("hostIP") or EVERY_ADDRESS
                at = "" if address == EVERY_ADDRESS else f"@{address}"
                yield f"{port.get('protocol') or 'TCP'}/{port['hostPort']}{at}"


def lasting_containers(spec: Object) -> Iterator[Object]:
    """Yield the containers that run as long as their pod: its own and its sidecars."""
    yield from spec.get("containers") or ()
    for item in spec.get("initContainers") or ():
        if item.get("restartPolicy") == "Always":
            yield item


def _unknown(spec: Object) -> Iterator[str]:
    if spec.get("resourceClaims"):
        yield "it claims devices (resourceClaims), which is not supported"
    scheduler = spec.get("schedulerName") or SCHEDULER
    if scheduler != SCHEDULER:
        yield f"it waits for another scheduler, {scheduler}"
    kinds = {kind for volume in spec.get("volumes") or () for kind in volume if kind in EXCLUSIVE}
    if kinds:
        yield f"it has a volume of kind {min(kinds)} without a claim, which is not supported"
