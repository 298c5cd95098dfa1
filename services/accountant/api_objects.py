"""Objects of the API, as the accountant keeps them."""

from __future__ import annotations

from collections.abc import Iterator

from contract.grace_periods import TEAM_GRACE_S
from contract.kubernetes.connection import Object
from contract.kubernetes.drain import OVER
from contract.kubernetes.quantities import Resources, whole
from services.accountant.comparison import JobOwner, RunningPod, Workload, total
from services.pod_requests import requests

JOB, JOBSET = ("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet")
"""API version and kind of the owners that are followed. Kubernetes' garbage collector deletes what an owner of another
version leaves behind only if the cluster serves that version."""
FOREGROUND = "foregroundDeletion"
"""Finalizer of an owner whose dependents are deleted before it (k8s.io/apimachinery/meta/v1,
``FinalizerDeleteDependents``)."""


def running_pod(item: Object) -> RunningPod | None:
    """Return a pod that runs, or that the scheduler may place; None for all others."""
    metadata, spec = item["metadata"], item["spec"]
    ends = str(metadata.get("deletionTimestamp") or "")
    if spec.get("schedulingGates") or (item.get("status") or {}).get("phase") in OVER:
        return None
    if ends and not spec.get("nodeName"):
        # The scheduler places no pod that is being deleted.
        return None
    if int(metadata.get("deletionGracePeriodSeconds") or 0) > TEAM_GRACE_S:
        # Whoever may take longer than any pod of a team runs on.
        ends = ""
    return RunningPod(
        uid=str(metadata["uid"]),
        name=str(metadata["name"]),
        controller=_controller(metadata),
        job=_controller(metadata, JOB),
        # Not what nodes report: a node could then close the namespace of any team.
        requests={**requests(spec), "pods": 1},
        made=str(metadata.get("creationTimestamp") or ""),
        ends=ends,
    )


def job_owner(item: Object) -> JobOwner:
    """Return a Job or a JobSet."""
    metadata = item["metadata"]
    is_deleted = "deletionTimestamp" in metadata
    ends = is_deleted and FOREGROUND in (metadata.get("finalizers") or ())
    return JobOwner(
        uid=str(metadata["uid"]),
        name=str(metadata["name"]),
        parent=_controller(metadata, JOBSET),
        ends=ends,
        is_pinned=is_deleted and not ends,
    )


def workload(item: Object) -> Workload:
    """Return one of Kueue's workloads."""
    status = item.get("status") or {}
    conditions = [condition for condition in status.get("conditions") or () if condition["status"] == "True"]
    true = {condition["type"]: str(condition.get("lastTransitionTime") or "") for condition in conditions}
    is_admitted = {"QuotaReserved", "Admitted"} <= true.keys()
    return Workload(
        owners=tuple(str(owner["uid"]) for owner in item["metadata"].get("ownerReferences") or ()),
        usage=total(_usage(item, status)) if is_admitted else {},
        finished="Finished" in true,
        evicted=true.get("Evicted", ""),
    )


def _usage(item: Object, status: Object) -> Iterator[Resources]:
    """Yield what Kueue counts for each set of pods (kueue.x-k8s.io/v1beta2, ``PodSetAssignment``), without the pods
    that it needs no longer."""
    declared = {pods["name"]: int(pods.get("count", 1)) for pods in (item.get("spec") or {}).get("podSets") or ()}
    reclaimed = {pods["name"]: int(pods["count"]) for pods in status.get("reclaimablePods") or ()}
    for assignment in (status.get("admission") or {}).get("podSetAssignments") or ():
        name = assignment["name"]
        count = int(assignment.get("count", declared.get(name, 0)))
        gone = min(count, reclaimed.get(name, 0))
        usage = {
            resource: whole(resource, amount) for resource, amount in (assignment.get("resourceUsage") or {}).items()
        }
        rest = {resource: amount - amount * gone // count for resource, amount in usage.items()} if count else {}
        yield {**rest, "pods": count - gone}


def nominal_quota(item: Object) -> Resources:
    """Return the quota of a ClusterQueue, without what it may borrow."""
    return total(
        {str(resource["name"]): whole(resource["name"], resource["nominalQuota"])}
        for group in (item.get("spec") or {}).get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
        for resource in flavor.get("resources") or ()
    )


def _controller(metadata: Object, kind: tuple[str, str] | None = None) -> str:
    """Return the UID of an object's controller if it is of this kind, by default of any; otherwise an empty text."""
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner["uid"]) if kind in (None, (owner["apiVersion"], owner["kind"])) else ""
    return ""
