"""Jobs that wait, from Kueue's Workloads (kueue.x-k8s.io/v1beta2): what each requests, and what it waits for."""

from __future__ import annotations

import re
from collections.abc import Mapping

from contract.kubernetes.connection import Object
from contract.kubernetes.times import parse_time
from contract.resources import GPU_RESOURCE
from longhaul.client.capacity.amounts import CPU, MILLI, number
from longhaul.client.capacity.state import Amount, PendingJob

_UNKNOWN_RESOURCE = re.compile(r"\bresource (\S+) unavailable in ClusterQueue")
"""Kueue's words about a resource without a quota (sigs.k8s.io/kueue 0.19, ``pkg/scheduler/flavorassigner``)."""
_ADDED_TO = "`extended_resources` in the environment's file"


def is_waiting(item: Object) -> bool:
    """Return whether a Workload neither runs nor has ended."""
    conditions = _conditions(item)
    return not (_holds(conditions, "Admitted") or _holds(conditions, "Finished"))


def pending_job(item: Object) -> PendingJob:
    """Return a waiting job from its Workload."""
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
    """Return the amounts that are reserved for a job, or else the amounts that the job requests."""
    assigned = (status.get("admission") or {}).get("podSetAssignments") or ()
    parts = [assignment.get("resourceUsage") for assignment in assigned]
    parts = parts or [resource_request.get("resources") for resource_request in status.get("resourceRequests") or ()]
    total: dict[str, int] = {}
    for part in parts:
        for name, text in (part or {}).items():
            total[name] = total.get(name, 0) + number(name, text)
    return total


def _waits_for(status: Object, conditions: Mapping[str, Object]) -> str:
    """Return what a job waits for, with the message from Kueue or from its admission checks."""
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
    unknown = dict.fromkeys(_UNKNOWN_RESOURCE.findall(message))
    if unknown:
        return f"{after}nothing: no queue knows {', '.join(unknown)}; an administrator adds it to {_ADDED_TO}"
    return f"{after}its turn{f': {message}' if message else ''}"


def _conditions(item: Object) -> dict[str, Object]:
    return {str(condition["type"]): condition for condition in (item.get("status") or {}).get("conditions") or ()}


def _holds(conditions: Mapping[str, Object], name: str) -> bool:
    return bool(conditions.get(name, {}).get("status") == "True")
