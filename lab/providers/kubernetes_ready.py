"""Checks whether an object is ready, and gives the reasons if not: after pulumi-kubernetes, ``provider/pkg/await``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lab.providers.kubernetes_client import ObjectClient
from lab.providers.kubernetes_objects import WAIT_FOR, Object, annotation, metadata


@dataclass(frozen=True, kw_only=True)
class ReadyVerdict:
    """Result of the check of one object."""

    ready: bool
    reasons: list[str] = field(default_factory=list)
    """Conditions that the object does not meet."""


@dataclass(frozen=True, kw_only=True)
class ObservedObject:
    """An observed object, and the client for further queries."""

    client: ObjectClient
    live: Object

    @property
    def status(self) -> Object:
        """Status of the object; empty until a controller wrote one."""
        return self.live.get("status") or {}

    @property
    def spec(self) -> Object:
        """Spec of the object."""
        return self.live.get("spec") or {}

    @property
    def current(self) -> bool:
        """Return whether the object's controller has observed the newest version."""
        return bool(self.status.get("observedGeneration") == metadata(self.live).get("generation"))

    def condition(self, kind: str) -> dict[str, str]:
        """Return one condition of the object; empty when the object lacks it."""
        matches = [item for item in self.status.get("conditions") or [] if item.get("type") == kind]
        return matches[0] if matches else {}

    def is_true(self, kind: str) -> bool:
        """Return whether a condition is true."""
        return self.condition(kind).get("status") == "True"

    def pods(self, owner: Object | None = None) -> list[str]:
        """Return the problems that keep the object's pods from being ready."""
        return pod_problems(self.client, self.live, owner=owner or self.live)


Check = Callable[[ObservedObject], ReadyVerdict]


def written_condition(written: str) -> Check:
    """Return the check for ``pulumi.com/waitFor: condition=<type>[=<status>]``; raise ``ValueError`` for other
    forms."""
    form, _, rest = written.partition("=")
    kind, _, wanted = rest.partition("=")
    if form != "condition" or not kind:
        raise ValueError(f"{WAIT_FOR}: {written}: the lab's kubernetes plugin knows condition=<type>[=<status>] alone")

    def check(observed: ObservedObject) -> ReadyVerdict:
        ready = observed.condition(kind).get("status", "").lower() == (wanted or "true").lower()
        return ReadyVerdict(ready=ready, reasons=[f"its condition {kind} is not {wanted or 'True'}"])

    return check


def _deployment(observed: ObservedObject) -> ReadyVerdict:
    if not observed.current:
        return ReadyVerdict(ready=False, reasons=["no controller has looked at it: does kube-controller-manager run?"])
    revision = annotation(observed.live, "deployment.kubernetes.io/revision")
    progressing = observed.condition("Progressing")
    rolled = revision == "1" or (
        observed.is_true("Progressing") and progressing.get("reason") == "NewReplicaSetAvailable"
    )
    owned = _replica_set(observed, revision)
    wanted = (owned.get("spec") or {}).get("replicas", 1)
    ready = (owned.get("status") or {}).get("readyReplicas", 0)
    reasons = [
        f"[{condition.get('reason', '')}] {condition.get('message', '')}"
        for condition in (progressing, observed.condition("Available"))
        if condition and condition.get("status") != "True"
    ]
    if not observed.is_true("Available"):
        reasons.append("Minimum number of live Pods was not attained")
    elif not rolled or not owned or ready < wanted:
        reasons.append(f"{ready} of {wanted} Pods of revision {revision or 'none'} are ready")
    else:
        return ReadyVerdict(ready=True)
    return ReadyVerdict(ready=False, reasons=reasons + observed.pods(owned))


def _replica_set(observed: ObservedObject, revision: str) -> Object:
    meta = metadata(observed.live)
    for replica_set in observed.client.items("apps/v1", "ReplicaSet", namespace=meta.get("namespace")):
        owners = [owner.get("uid") for owner in metadata(replica_set).get("ownerReferences") or []]
        if meta.get("uid") in owners and annotation(replica_set, "deployment.kubernetes.io/revision") == revision:
            return replica_set
    return {}


def _stateful_set(observed: ObservedObject) -> ReadyVerdict:
    wanted, ready = observed.spec.get("replicas", 1), observed.status.get("readyReplicas", 0)
    rolled = observed.status.get("currentRevision") == observed.status.get("updateRevision")
    if observed.current and rolled and ready >= wanted:
        return ReadyVerdict(ready=True)
    reasons = [f"{ready} of {wanted} Pods are ready"] + ([] if rolled else ["the roll-out is under way"])
    return ReadyVerdict(ready=False, reasons=reasons + observed.pods())


def _daemon_set(observed: ObservedObject) -> ReadyVerdict:
    wanted = observed.status.get("desiredNumberScheduled", -1)
    counts = [observed.status.get(key, 0) for key in ("updatedNumberScheduled", "numberAvailable", "numberReady")]
    if observed.current and wanted >= 0 and min(counts) >= wanted:
        return ReadyVerdict(ready=True)
    return ReadyVerdict(ready=False, reasons=[f"{counts[2]} of {max(wanted, 0)} Pods are ready", *observed.pods()])


def _job(observed: ObservedObject) -> ReadyVerdict:
    if observed.is_true("Complete"):
        return ReadyVerdict(ready=True)
    failed = observed.condition("Failed")
    counts = ", ".join(f"{observed.status.get(key, 0)} {key}" for key in ("active", "succeeded", "failed"))
    reason = f"[{failed.get('reason', '')}] {failed.get('message', '')}" if observed.is_true("Failed") else counts
    return ReadyVerdict(ready=False, reasons=[reason, *observed.pods()])


def _pod(observed: ObservedObject) -> ReadyVerdict:
    if observed.status.get("phase") == "Succeeded" or observed.is_true("Ready"):
        return ReadyVerdict(ready=True)
    return ReadyVerdict(ready=False, reasons=pod_problems(observed.client, observed.live, owner=None))


def _phase(*wanted: str) -> Check:
    def check(observed: ObservedObject) -> ReadyVerdict:
        phase = observed.status.get("phase")
        return ReadyVerdict(ready=phase in wanted, reasons=[f"its phase is {phase}, not {' or '.join(wanted)}"])

    return check


def _quota(observed: ObservedObject) -> ReadyVerdict:
    ready = observed.spec.get("hard") == observed.status.get("hard")
    return ReadyVerdict(ready=ready, reasons=["no controller has counted it yet"])


def has_address(observed: ObservedObject) -> ReadyVerdict:
    """Check whether an object with external traffic has an address."""
    given = (observed.status.get("loadBalancer") or {}).get("ingress")
    return ReadyVerdict(
        ready=bool(given), reasons=["nobody has given it an address: does the cloud have load balancers?"]
    )


def _token_secret(observed: ObservedObject) -> ReadyVerdict:
    waits = observed.live.get("type") == "kubernetes.io/service-account-token" and not observed.live.get("data")
    return ReadyVerdict(ready=not waits, reasons=["no controller has filled in the token"])


CHECKS: dict[tuple[str, str], Check] = {
    ("apps/v1", "Deployment"): _deployment,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("apps/v1", "DaemonSet"): _daemon_set,
    ("batch/v1", "Job"): _job,
    ("networking.k8s.io/v1", "Ingress"): has_address,
    ("v1", "Pod"): _pod,
    ("v1", "PersistentVolume"): _phase("Available", "Bound"),
    ("v1", "PersistentVolumeClaim"): _phase("Bound"),
    ("v1", "ResourceQuota"): _quota,
    ("v1", "Secret"): _token_secret,
}
"""Checks by version and kind, besides those of Services; every other object is ready when it exists."""


MOST = 5
"""Largest number of pods' problems that are shown; further problems are usually alike."""


def pod_problems(client: ObjectClient, live: Object, *, owner: Object | None) -> list[str]:
    """Return the problems that keep an object's pods from being ready; for a pod itself, ``owner`` is ``None``."""
    if owner is None:
        return _problems(live)
    meta = metadata(owner)
    pods = [
        pod
        for pod in client.items("v1", "Pod", namespace=meta.get("namespace"))
        if meta.get("uid")
        in [owner_reference.get("uid") for owner_reference in metadata(pod).get("ownerReferences") or []]
    ]
    problems = [problem for pod in pods for problem in _problems(pod)]
    return problems[:MOST] + ([f"and {len(problems) - MOST} more"] if len(problems) > MOST else [])


def _problems(pod: Object) -> list[str]:
    status, meta = pod.get("status") or {}, metadata(pod)
    conditions = {condition.get("type"): condition for condition in status.get("conditions") or []}
    if status.get("phase") == "Succeeded" or conditions.get("Ready", {}).get("status") == "True":
        return []
    problems = [
        conditions[kind]["message"]
        for kind in ("PodScheduled", "Initialized", "Ready")
        if conditions.get(kind, {}).get("status") == "False" and conditions[kind].get("message")
    ][:1]
    problems += [problem for container in status.get("containerStatuses") or [] for problem in _container(container)]
    return [f"[Pod {meta.get('namespace')}/{meta.get('name')}]: {'; '.join(problems)}"] if problems else []


def _container(status: dict[str, Any]) -> list[str]:
    if status.get("ready"):
        return []
    problems = []
    waiting = (status.get("state") or {}).get("waiting") or {}
    if waiting and waiting.get("reason") != "ContainerCreating":
        problems.append(f"[{waiting.get('reason', '')}] {waiting.get('message', '')}")
    ended = (status.get("state") or {}).get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    if ended:
        words = ended.get("message") or ended.get("reason") or ""
        problems.append(f"container {status.get('name')!r} ended with {ended.get('exitCode')}: {words}")
    return problems
