"""Teams' queues, from Kueue's ClusterQueues (kueue.x-k8s.io/v1beta2)."""

from __future__ import annotations

from collections.abc import Iterable

from contract.conditions import BEYOND_QUEUE
from contract.kubernetes.connection import Object
from contract.labels import HELD_LABEL
from contract.resources import GPU_RESOURCE
from longhaul.client.capacity.amounts import CPU, MILLI, amount, number
from longhaul.client.capacity.state import TeamCapacity, Use
from longhaul.client.capacity.waiting_jobs import pending_job


def team(queue: Object, waiting: Iterable[Object] | None, *, refusal: str = "") -> TeamCapacity:
    """Return a team from its ClusterQueue and the waiting jobs of its namespace; ``waiting`` is None when the person
    may not see jobs. ``refusal`` is the result of :func:`refusal_of` for the team's namespace."""
    status = queue.get("status") or {}
    used = {usage["name"]: usage.get("resources") or () for usage in status.get("flavorsReservation") or ()}
    groups = queue["spec"].get("resourceGroups") or ()
    uses = tuple(_use(flavor, used.get(flavor["name"], ())) for group in groups for flavor in group["flavors"])
    jobs = None if waiting is None else sorted(map(pending_job, waiting), key=lambda job: (str(job.since), job.name))
    admitted = int(status.get("admittedWorkloads") or 0)
    reserving = int(status.get("reservingWorkloads") or 0)
    return TeamCapacity(
        name=queue["metadata"]["name"],
        uses=uses,
        running=admitted,
        waiting=int(status.get("pendingWorkloads") or 0) + max(0, reserving - admitted),
        jobs=None if jobs is None else tuple(jobs),
        refusal=refusal,
    )


def refusal_of(namespace: Object) -> str:
    """Return the reason why a namespace takes no new pods; empty if it takes them."""
    if HELD_LABEL not in (namespace["metadata"].get("labels") or {}):
        return ""
    conditions = (namespace.get("status") or {}).get("conditions") or ()
    messages = (condition.get("message") for condition in conditions if condition["type"] == BEYOND_QUEUE)
    return str(next(messages, None) or f"its label {HELD_LABEL}")


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
        may_borrow=None if limit is None else number(name, limit) // (MILLI if name == CPU else 1),
    )
