"""Judges pods that do not start: one verdict for each cause. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from clouds.base.phrases import counted
from contract.reasons.status import StatusReason
from longhaul.report.status_verdict import StatusVerdict
from longhaul.status.observed import Observed
from longhaul.status.symptom import SymptomSubject
from longhaul.status.symptoms import symptom_of
from longhaul.status.waiting_pods import WaitingPod
from longhaul.terminal.ages import age

PHRASES: Mapping[StatusReason, str] = {
    StatusReason.POD_UNSCHEDULED: "without a node",
    StatusReason.VOLUME_NOT_BOUND: "without their volume",
    StatusReason.IMAGE_NOT_PULLED: "without their image",
    StatusReason.CONTAINER_DIED: "whose init container dies",
    StatusReason.POD_NOT_STARTED: "that their node does not start",
}
"""Words about pods, by reason; in the order of the verdicts."""


@dataclass(frozen=True, kw_only=True)
class PodsStatus:
    """Pods that do not start for one cause."""

    name: str
    """Namespace and name of the pod that has waited longest, with a slash between them."""
    verdict: StatusVerdict
    reason: StatusReason
    message: str
    pods: int


def judge_pods(env: str, observed: Observed) -> tuple[PodsStatus, ...]:
    """Judge the waiting pods, together by cause. They are no fault of the environment: a pod with a typing error would
    make it unhealthy for all."""
    by_reason: defaultdict[StatusReason, list[WaitingPod]] = defaultdict(list)
    for pod in observed.cluster.pods:
        by_reason[pod.reason].append(pod)
    return tuple(_judged(env, reason, by_reason[reason], observed) for reason in PHRASES if reason in by_reason)


def _judged(env: str, reason: StatusReason, pods: list[WaitingPod], observed: Observed) -> PodsStatus:
    first = min(pods, key=lambda pod: pod.since)
    name = f"{first.namespace}/{first.name}"
    waits = age((observed.now - first.since).total_seconds())
    message = f"{counted(len(pods), 'pod')} {PHRASES[reason]}; {name} for {waits}: {first.message}"
    symptom = symptom_of(SymptomSubject.PODS, reason)
    if symptom is not None:
        commands = symptom.sentence(env=env, namespace=first.namespace, name=first.name, claim=first.subject)
        message = f"{message}; {commands}"
    return PodsStatus(name=name, verdict=StatusVerdict.WAITING, reason=reason, message=message, pods=len(pods))
