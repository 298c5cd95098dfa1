"""Teams' queues and jobs in Kueue's objects (kueue.x-k8s.io/v1beta2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from contract.kubernetes.connection import Object
from contract.kubernetes.quantities import whole
from contract.kubernetes.times import parse_time
from contract.resources import GPU_RESOURCE
from longhaul.client.capacity.state import Amount, PendingJob, TeamCapacity, Use

CPU = "cpu"
MILLI = 1000


def amount(resources: Mapping[str, Any]) -> Amount:
    """Return GPUs and cores of a mapping of resources; an invalid quantity counts as zero."""
    return Amount(
        gpus=_number(GPU_RESOURCE, resources.get(GPU_RESOURCE, 0)), cores=_number(CPU, resources.get(CPU, 0)) / MILLI
    )


def _number(name: str, text: Any) -> int:
    try:
        return whole(name, text)
    except ValueError:
        return 0


def team(queue: Object, waiting: Iterable[Object] | None) -> TeamCapacity:
    """Return a team from its ClusterQueue and the waiting jobs of its namespace; ``waiting`` is None when the person
    may not see jobs."""
    status = queue.get("status") or {}
    used = {usage["name"]: usage.get("resources") or () for usage in status.get("flavorsReservation") or ()}
    groups = queue["spec"].get("resourceGroups") or ()
    uses = tuple(_use(flavor, used.get(flavor["name"], ())) for group in groups for flavor in group["flavors"])
    jobs = None if waiting is None else sorted(map(_job, waiting), key=lambda job: (str(job.since), job.name))
    admitted = int(status.get("admittedWorkloads") or 0)
    reserving = int(status.get("reservingWorkloads") or 0)
    return TeamCapacity(
        name=queue["metadata"]["name"],
        uses=uses,
        running=admitted,
        waiting=int(status.get("pendingWorkloads") or 0) + max(0, reserving - admitted),
        jobs=None if jobs is None else tuple(jobs),
    )


def _use(flavor: Object, used: Iterable[Object]) -> Use:
    declared = {resource["name"]: resource for resource in flavor["resources"]}
    guaranteed = amount({name: resource["nominalQuota"] for name, resource in declared.items()})
    counted = {usage["name"]: usage for usage in used}
    limits = {name: resource.get("borrowingLimit") for name, resource in declared.items()}
    # A kind of capacity without GPUs has no GPUs to borrow.
    name = (
        CPU if GPU_RESOURCE not in declared or (limits[GPU_RESOURCE] == "0" and not guaranteed.gpus) else GPU_RESOURCE
    )
    limit = limits.get(name)
    return Use(
        kind=flavor["name"],
        guaranteed=guaranteed,
        used=amount({name: usage.get("total", 0) for name, usage in counted.items()}),
        borrowed=amount({name: usage.get("borrowed", 0) for name, usage in counted.items()}),
        may_borrow=None if limit is None else _number(name, limit) // (MILLI if name == CPU else 1),
    )


def is_waiting(item: Object) -> bool:
    """Return whether a Workload neither runs nor has ended."""
    conditions = _conditions(item)
    return not (_holds(conditions, "Admitted") or _holds(conditions, "Finished"))


def _job(item: Object) -> PendingJob:
    status = item.get("status") or {}
    total = _asked(status)
    owner: Object = next(iter(item["metadata"].get("ownerReferences") or ()), {})
    return PendingJob(
        name=str(owner.get("name") or item["metadata"]["name"]),
        asks=Amount(gpus=total.get(GPU_RESOURCE, 0), cores=total.get(CPU, 0) / MILLI),
        since=parse_time(str(item["metadata"].get("creationTimestamp") or "")),
        waits_for=_waits_for(status, _conditions(item)),
    )


def _asked(status: Object) -> dict[str, int]:
    """Return the amounts of a job: those reserved for it, or else those that it requests."""
    assigned = (status.get("admission") or {}).get("podSetAssignments") or ()
    parts = [assignment.get("resourceUsage") for assignment in assigned]
    parts = parts or [resource_request.get("resources") for resource_request in status.get("resourceRequests") or ()]
    total: dict[str, int] = {}
    for part in parts:
        for name, text in (part or {}).items():
            total[name] = total.get(name, 0) + _number(name, text)
    return total


def _waits_for(status: Object, conditions: Mapping[str, Object]) -> str:
    """Return what a job waits for, with Kueue's message or that of its admission checks."""
    pushed = conditions.get("Evicted", {})
    after = f"ended ({pushed['reason']}), waits again; " if _holds(conditions, "Evicted") and "reason" in pushed else ""
    if _holds(conditions, "QuotaReserved"):
        checks = [
            admission_check
            for admission_check in status.get("admissionChecks") or ()
            if admission_check.get("state") != "Ready"
        ]
        message = "; ".join(str(check["message"]) for check in checks if check.get("message"))
        return f"{after}nodes{f': {message}' if message else ''}"
    message = str(conditions.get("QuotaReserved", {}).get("message") or "")
    return f"{after}its turn{f': {message}' if message else ''}"


def _conditions(item: Object) -> dict[str, Object]:
    return {str(condition["type"]): condition for condition in (item.get("status") or {}).get("conditions") or ()}


def _holds(conditions: Mapping[str, Object], name: str) -> bool:
    return bool(conditions.get(name, {}).get("status") == "True")
