"""Quotas of teams' queues (kueue.x-k8s.io/v1beta2, Kueue 0.19): the contents of flavors, the Cohort and ClusterQueues.
Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from components.model.nodes.rdma import EFA_RESOURCE, SHARED, rdma_kinds, shared_resource
from components.objects.queue_managers import CHECK
from contract.labels import KIND_LABEL, TEAM_LABEL
from contract.project import PROJECT
from contract.resources import GPU_RESOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from components.model import Environment
    from components.model.pools.capacity_kinds import CapacityKind
    from components.model.teams.section import Share

COHORT = PROJECT
CPU, MEMORY = "cpu", "memory"
PLENTY = "1P"
"""Quota of resources that are not counted: a queue refuses a job that requests a resource without a quota. Kueue adds
up quotas in 64 bits, so this quota must be far below their limit."""
CORES_OF_HOSTS = 1_000_000
"""Number of cores assumed for a kind with hosts, whose cores are not declared. Only the room on the machines then
limits jobs."""


def used_kinds(environment: Environment, known: Mapping[str, CapacityKind]) -> tuple[str, ...]:
    """Return the kinds that any team may use."""
    named = {kind for team in environment.teams.values() for kind in team.shares}
    return tuple(kind for kind in known if kind in named)


def flavor(kind: CapacityKind) -> dict[str, Any]:
    """Return the ResourceFlavor of a kind. The taints of the kind's pools keep away pods that did not come through a
    queue. Pods that Kueue admits tolerate all these taints, whichever pool they run on."""
    tolerations = [
        {
            "key": taint.key,
            "operator": "Equal" if taint.value else "Exists",
            **({"value": taint.value} if taint.value else {}),
            "effect": taint.effect,
        }
        for taint in kind.taints
    ]
    return {"nodeLabels": {KIND_LABEL: kind.name}, **({"tolerations": tolerations} if tolerations else {})}


def cohort(environment: Environment, known: Mapping[str, CapacityKind]) -> dict[str, Any]:
    """Return the Cohort, which lends the capacity that pools may have beyond all guarantees."""
    resources = _resources(environment, any(known[kind].gpus for kind in used_kinds(environment, known)))
    flavors = []
    for name in used_kinds(environment, known):
        kind = known[name]
        shares = [team.shares[name] for team in environment.teams.values() if name in team.shares]
        cores = CORES_OF_HOSTS if kind.cores is None else kind.cores - sum(kind.cores_of(share) for share in shares)
        gpus = kind.gpus - sum(share.gpus for share in shares)
        rest = {CPU: str(cores), GPU_RESOURCE: str(gpus)}
        if kind.memory_gib is not None and kind.memory_each_gib is not None:
            rest[MEMORY] = f"{max(0, kind.memory_gib - sum(_memory(share, kind) for share in shares))}Gi"
        flavors.append(_quotas(name, resources, {key: {"nominalQuota": amount} for key, amount in rest.items()}))
    return {"resourceGroups": [{"coveredResources": [*resources], "flavors": flavors}]}


def cluster_queue(environment: Environment, team: str, known: Mapping[str, CapacityKind]) -> dict[str, Any]:
    """Return a team's ClusterQueue. The queue takes its guarantee back from whoever has borrowed it. To borrow, the
    queue ends only jobs that have borrowed too and have a lower priority."""
    shares = environment.teams[team].shares
    # Flavors without GPUs come first: a job without GPUs uses GPU machines only when nothing else is left.
    order = sorted(shares, key=lambda kind: bool(known[kind].gpus))
    resources = _resources(environment, any(known[kind].gpus for kind in order))
    flavors = [_quotas(kind, resources, _guaranteed(shares[kind], known[kind])) for kind in order]
    return {
        "cohortName": COHORT,
        "namespaceSelector": {"matchLabels": {TEAM_LABEL: team}},
        "queueingStrategy": "BestEffortFIFO",
        # A job starts once the autoscaler has room for all of it. Without an autoscaler, nobody would answer the check.
        **({"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}} if environment.scales else {}),
        "preemption": {
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority"},
            "withinClusterQueue": "Never",
        },
        "resourceGroups": [{"coveredResources": [*resources], "flavors": flavors}],
    }


def _guaranteed(share: Share, kind: CapacityKind) -> dict[str, dict[str, str]]:
    """Return the cores and GPUs of a share, and the memory that goes with the GPUs: otherwise a job that requests
    little except memory would get a whole machine with GPUs."""
    cores = kind.cores_of(share)
    quotas = {CPU: {"nominalQuota": str(cores)}, GPU_RESOURCE: {"nominalQuota": str(share.gpus)}}
    # Hosts' memory is not declared.
    each = None if kind.memory_gib is None else kind.memory_each_gib
    if each is not None:
        quotas[MEMORY] = {"nominalQuota": f"{_memory(share, kind)}Gi"}
    for field, number in (("borrowingLimit", share.borrow), ("lendingLimit", share.lend)):
        if number is None:
            continue
        if not kind.gpus:
            quotas[CPU][field] = str(number)
            continue
        quotas[GPU_RESOURCE][field] = str(number)
        if kind.cores_each is not None:
            most = number * kind.cores_each
            quotas[CPU][field] = str(min(most, cores) if field == "lendingLimit" else most)
        if each is not None:
            quotas[MEMORY][field] = f"{number * each}Gi"
    if not kind.gpus:
        quotas[GPU_RESOURCE]["borrowingLimit"] = "0"
    return quotas


def _memory(share: Share, kind: CapacityKind) -> int:
    """Return the memory, GiB, that goes with a share's GPUs, or with its cores if that is more."""
    machines = max(share.gpus, -(-kind.cores_of(share) // (kind.cores_each or 1)) if kind.gpus else 0)
    return machines * (kind.memory_each_gib or 0)


def _quotas(name: str, resources: tuple[str, ...], counted: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return a flavor with the quota of each resource, in the order of ``resources``."""
    every = [{"name": resource, **counted.get(resource, {"nominalQuota": PLENTY})} for resource in resources]
    return {"name": name, "resources": every}


def _resources(environment: Environment, gpus: bool) -> tuple[str, ...]:
    """Return the resources that jobs of a team may request."""
    return (
        CPU,
        *((GPU_RESOURCE,) if gpus else ()),
        MEMORY,
        "ephemeral-storage",
        *_machines(environment),
        *environment.extended_resources,
    )


def _machines(environment: Environment) -> Iterator[str]:
    """Yield resources that only some machines have: huge pages, and adapters of networks between GPUs."""
    yield from ("hugepages-1Gi", "hugepages-2Mi")
    for kind in rdma_kinds(environment):
        yield shared_resource(kind) if kind in SHARED else EFA_RESOURCE
