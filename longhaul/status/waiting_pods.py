"""Pods that do not start, each with the cause that Kubernetes gives.

Pods that wait for a team's turn (a scheduling gate) are left out, and so are pods of the system, whose add-ons have
verdicts of their own. A pod that started and died is no waiting pod: its phase is Running, and finding it would take a
list of all pods (docs/symptoms.md has the command).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from contract.annotations import SELECTED_NODE
from contract.kubernetes.api import Api
from contract.kubernetes.claims import FIRST_CONSUMER, claim_name
from contract.kubernetes.paths import CLAIMS, PODS, STORAGE_CLASSES
from contract.kubernetes.times import parse_time
from contract.object_names import SYSTEM_NAMESPACE
from contract.reasons.status import StatusReason

Object = Mapping[str, Any]

SCHEDULING = timedelta(minutes=2)
"""Time without a node after which a pod is shown."""
STARTING = timedelta(minutes=10)
"""Time on a node without a started container after which a pod is shown, unless its state names a cause before."""
IMAGE_STATES = frozenset(
    {
        *("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"),
        *("RegistryUnavailable", "SignatureValidationFailed"),
    }
)
"""Reasons of a waiting container without an image (kubernetes 1.36, ``pkg/kubelet/images/types.go`` and
``k8s.io/cri-api/pkg/errors``)."""
CRASHED = "CrashLoopBackOff"
CREATING = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons of a waiting container without a fault so far (kubernetes 1.36, ``pkg/kubelet/kubelet_pods.go``)."""
LONGEST = 300
"""Maximum length of Kubernetes' own message, characters: a scheduler's message names every kind of obstacle."""


@dataclass(frozen=True, kw_only=True)
class WaitingPod:
    """A pod that does not start."""

    namespace: str
    name: str
    since: datetime
    reason: StatusReason
    message: str
    """Cause as Kubernetes reports it."""
    subject: str = ""
    """Name of the claim of :attr:`StatusReason.VOLUME_NOT_BOUND`."""


def waiting_pods(api: Api) -> Iterator[WaitingPod]:
    """Yield the pods that do not start, the longest wait first."""
    pods = [pod for pod in api.items(PODS, fieldSelector="status.phase=Pending") if _counts(pod)]
    claims: dict[tuple[str, str], Object] = {}
    classes: dict[str, Object] = {}
    if any(map(_claim_names, pods)):
        claims = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in api.items(CLAIMS)}
        classes = {item["metadata"]["name"]: item for item in api.items(STORAGE_CLASSES)}
    now = api.now() if pods else None
    views = [view for pod in pods if now and (view := _view(pod, claims, classes, now))]
    yield from sorted(views, key=lambda view: (view.since, view.namespace, view.name))


def _counts(pod: Object) -> bool:
    metadata, spec = pod["metadata"], pod["spec"]
    return not (
        metadata["namespace"] == SYSTEM_NAMESPACE or "deletionTimestamp" in metadata or spec.get("schedulingGates")
    )


def _view(
    pod: Object, claims: Mapping[tuple[str, str], Object], classes: Mapping[str, Object], now: datetime
) -> WaitingPod | None:
    metadata, status = pod["metadata"], pod.get("status") or {}
    made = parse_time(str(metadata.get("creationTimestamp") or "")) or now
    if pod["spec"].get("nodeName"):
        since = parse_time(str(status.get("startTime") or "")) or made
        cause = _not_started(status, now - since)
    else:
        scheduled = _condition(status, "PodScheduled")
        since = parse_time(str(scheduled.get("lastTransitionTime") or "")) or made
        cause = _unscheduled(pod, scheduled, claims, classes) if now - since > SCHEDULING else None
    if cause is None:
        return None
    reason, message, subject = cause
    return WaitingPod(
        namespace=metadata["namespace"],
        name=metadata["name"],
        since=since,
        reason=reason,
        message=_short(message),
        subject=subject,
    )


Cause = tuple[StatusReason, str, str]


def _unscheduled(
    pod: Object, scheduled: Object, claims: Mapping[tuple[str, str], Object], classes: Mapping[str, Object]
) -> Cause:
    """Return why a pod has no node. A claim without a volume comes first, unless the volume waits for the node: the
    scheduler's message names no claim, and once it has chosen a node it waits for the volume without a word."""
    for name in _claim_names(pod):
        claim = claims.get((pod["metadata"]["namespace"], name))
        if claim is None:
            return StatusReason.VOLUME_NOT_BOUND, f"its volume claim {name} does not exist", name
        if (claim.get("status") or {}).get("phase") != "Bound" and not _waits_for_node(claim, classes):
            return StatusReason.VOLUME_NOT_BOUND, _unbound(name, claim, classes), name
    message = str(scheduled.get("message") or "the scheduler has not considered it yet")
    return StatusReason.POD_UNSCHEDULED, message, ""


def _waits_for_node(claim: Object, classes: Mapping[str, Object]) -> bool:
    class_ = classes.get(claim["spec"].get("storageClassName") or "", {})
    selected = SELECTED_NODE in (claim["metadata"].get("annotations") or {})
    return class_.get("volumeBindingMode") == FIRST_CONSUMER and not selected


def _unbound(name: str, claim: Object, classes: Mapping[str, Object]) -> str:
    if (claim.get("status") or {}).get("phase") == "Lost":
        return f"its volume claim {name} has lost its volume"
    named = claim["spec"].get("storageClassName")
    if not named:
        return f"its volume claim {name} names no storage class, no class is the default, and no free volume suits it"
    if named not in classes:
        return f"storage class {named} of its volume claim {name} does not exist"
    return f"provisioner {classes[named]['provisioner']} has made no volume for its claim {name} (class {named})"


def _claim_names(pod: Object) -> list[str]:
    return [name for volume in pod["spec"].get("volumes") or () if (name := claim_name(pod, volume))]


def _not_started(status: Object, age: timedelta) -> Cause | None:
    """Return why the containers of a pod with a node do not start; None while nothing is wrong."""
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    waiting = [(container, (container.get("state") or {}).get("waiting") or {}) for container in containers]
    faults = [(container, state) for container, state in waiting if state and state.get("reason") not in CREATING]
    for container, state in faults:
        reason, message = str(state.get("reason") or ""), str(state.get("message") or "")
        if reason in IMAGE_STATES:
            return StatusReason.IMAGE_NOT_PULLED, f"{reason}: {message or container.get('image')}", ""
        if reason == CRASHED:
            return StatusReason.CONTAINER_DIED, f"{container['name']}: {_end(container)}", ""
        return StatusReason.POD_NOT_STARTED, f"{reason}: {message}".removesuffix(": "), ""
    runs = any("running" in (container.get("state") or {}) for container in containers)
    if runs or age <= STARTING:
        return None
    return StatusReason.POD_NOT_STARTED, "its node has not started a container; its events name the cause", ""


def _end(container: Object) -> str:
    """Return how a container ended. Its state only says that it is restarted; the end is in its last state."""
    end = (container.get("lastState") or {}).get("terminated") or {}
    return f"{end.get('reason') or 'ended'}, exit code {end.get('exitCode', 'unknown')}"


def _condition(status: Object, kind: str) -> Object:
    conditions: Iterable[Object] = status.get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
