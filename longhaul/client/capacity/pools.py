"""Pools: their nodes, their declared limits, and what the autoscaler stores about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from contract.documents.autoscaler_memory import DecisionMemory, backoff_key
from contract.documents.pools import DeclaredPool
from contract.kubernetes.connection import Object
from contract.kubernetes.readiness import is_ready
from contract.labels import HOSTS_POOL_LABEL, KIND_LABEL, POOL_LABEL, SITE_LABEL, UNCHECKED
from contract.taints import PREFLIGHT_TAINT
from longhaul.client.capacity.amounts import amount
from longhaul.client.capacity.state import Amount, PoolCapacity


def pools(
    declared: Mapping[str, DeclaredPool],
    nodes: Iterable[Object],
    pods: Iterable[Object] | None,
    *,
    memory: DecisionMemory,
    now: datetime,
) -> Iterator[PoolCapacity]:
    """Yield every pool; all bare-metal hosts of a site count as one pool."""
    taken = None if pods is None else _taken(pods)
    there: dict[tuple[str, str], list[Object]] = {}
    for node in nodes:
        labels = node["metadata"].get("labels") or {}
        name, site = labels.get(POOL_LABEL, ""), labels.get(SITE_LABEL, "")
        there.setdefault((name, site if name not in declared else ""), []).append(node)
    for name, pool in declared.items():
        yield _declared(pool, there.pop((name, ""), []), taken, memory, now)
    for (name, site), pool_nodes in sorted(there.items()):
        kinds = sorted({(node["metadata"].get("labels") or {}).get(KIND_LABEL, "") for node in pool_nodes} - {""})
        shown = "hosts" if name == HOSTS_POOL_LABEL else name or "of no pool"
        yield PoolCapacity(name=shown, site=site, kind=", ".join(kinds), most=None, **_counts(pool_nodes, taken))


def _declared(
    pool: DeclaredPool,
    nodes: list[Object],
    taken: Mapping[str, Amount] | None,
    memory: DecisionMemory,
    now: datetime,
) -> PoolCapacity:
    asked = [at for group, at in memory.asked.items() if group in pool.groups]
    groups = [memory.backoff.get(backoff_key(pool.name, name, groups=len(pool.groups))) for name in pool.groups]
    pauses = [pause for pause in (memory.backoff.get(pool.name), *groups) if pause and now < pause.until]
    whole = memory.backoff.get(pool.name) in pauses or len(pauses) == len(groups)
    skipped = min(pauses, key=lambda pause: pause.until) if pauses and whole else None
    return PoolCapacity(
        name=pool.name,
        site=pool.site,
        region=pool.region,
        kind=pool.kind,
        most=pool.max,
        asked=min(asked, default=None),
        skipped=skipped.obstacle.message if skipped else "",
        reason=skipped.obstacle.reason if skipped else "",
        skipped_until=skipped.until if skipped else None,
        **_counts(nodes, taken),
    )


def _counts(nodes: Iterable[Object], taken: Mapping[str, Amount] | None) -> dict[str, Any]:
    every = list(nodes)
    ready = [node for node in every if _is_ready(node)]
    coming = sum(_is_starting(node) for node in every)
    return {"nodes": len(every), "ready": len(ready), "coming": coming, "free": _free(ready, taken)}


def _free(nodes: Iterable[Object], taken: Mapping[str, Amount] | None) -> Amount | None:
    if taken is None:
        return None
    gpus, cores = 0, 0.0
    for node in nodes:
        if node["spec"].get("unschedulable"):
            continue
        has = amount((node.get("status") or {}).get("allocatable") or {})
        used = taken.get(node["metadata"]["name"], Amount())
        gpus += max(0, has.gpus - used.gpus)
        cores += max(0.0, has.cores - used.cores)
    return Amount(gpus=gpus, cores=cores)


def _taken(pods: Iterable[Object]) -> dict[str, Amount]:
    """Return the requests of all pods by node."""
    by_node: dict[str, Amount] = {}
    for pod in pods:
        name = pod["spec"].get("nodeName")
        if name:
            before, request = by_node.get(name, Amount()), _requests(pod["spec"])
            by_node[name] = Amount(gpus=before.gpus + request.gpus, cores=before.cores + request.cores)
    return by_node


def _requests(spec: Object) -> Amount:
    """Return a pod's request: the sum of its containers and sidecars, or its largest init container if that is more;
    the pod's overhead is added."""
    running = [_of(container) for container in spec.get("containers") or ()]
    before = spec.get("initContainers") or ()
    running += [_of(container) for container in before if container.get("restartPolicy") == "Always"]
    first = [_of(container) for container in before]
    over = amount(spec.get("overhead") or {})
    return Amount(
        gpus=max([sum(request.gpus for request in running), *(request.gpus for request in first)]) + over.gpus,
        cores=max([sum(request.cores for request in running), *(request.cores for request in first)]) + over.cores,
    )


def _of(container: Object) -> Amount:
    return amount((container.get("resources") or {}).get("requests") or {})


def _is_ready(node: Object) -> bool:
    return is_ready(node) and not _is_starting(node)


def _is_starting(node: Object) -> bool:
    """Return whether a node has registered and takes no pods yet."""
    taints = [taint["key"] for taint in node["spec"].get("taints") or ()]
    return any(key in (UNCHECKED, PREFLIGHT_TAINT) for key in taints)
