"""A check of pools: resize a group through the cloud's own interface; one more machine joins, then it leaves."""

from __future__ import annotations

from collections.abc import Callable

from clouds.base.live_groups import Scaled
from clouds.registry import cloud_of
from components.model import Environment
from components.model.sites.places import place_of
from contract.kubernetes.connection import Object
from contract.kubernetes.paths import NODES
from contract.kubernetes.readiness import is_ready
from contract.labels import POOL_LABEL
from longhaul.acceptance.check import NotApplicableError
from longhaul.acceptance.target import AcceptanceTarget
from longhaul.acceptance.time_limit import Deadline


def group_of(environment: Environment, pool: str) -> Scaled:
    """Return the first group of a pool; the pool's next machine is made there."""
    place = place_of(environment, environment.pools[pool].site)
    for group in cloud_of(place.site).live_groups(place, pool).values():
        return group
    raise NotApplicableError(f"pool {pool} is on {place.site.kind}, not in a cloud")


def scaled_pool(environment: Environment) -> str | None:
    """Return the pool to resize: among the pools that may grow, the pool with the fewest GPUs, then with the fewest
    vCPUs."""
    types = {name: environment.machine_type(pool.machine_type) for name, pool in environment.pools.items()}
    growing = [name for name, pool in environment.pools.items() if pool.max > pool.min]
    return min(growing, key=lambda name: (types[name].gpus, types[name].vcpus, name), default=None)


def scale_out_and_back(target: AcceptanceTarget, grown: Callable[[Environment, str], Scaled] = group_of) -> str:
    """Add one machine and remove it again. The size is set back whatever happens in between."""
    environment = target.environment
    pool = scaled_pool(environment)
    if pool is None:
        raise NotApplicableError("no pool has a `max` above its `min`")
    group = grown(environment, pool)
    before = group.size()
    if before >= environment.pools[pool].max:
        raise NotApplicableError(f"pool {pool} has its {before} machines, as many as it may have")
    _await(target, pool, before, target.condition_deadline())
    try:
        group.resize(before + 1)
        limit = target.condition_deadline()
        given = limit.remaining_s()
        _await(target, pool, before + 1, limit)
        joined = given - limit.remaining_s()
    finally:
        group.resize(before)
    limit = target.condition_deadline()
    given = limit.remaining_s()
    _await(target, pool, before, limit)
    gone = given - limit.remaining_s()
    return f"pool {pool} from {before} to {before + 1}: ready after {joined:.0f} s; back: gone after {gone:.0f} s"


def _await(target: AcceptanceTarget, pool: str, count: int, limit: Deadline) -> None:
    """Wait until the pool has exactly that many nodes, all ready."""

    def why_not(items: list[Object]) -> str:
        well = sum(map(is_ready, items))
        return "" if well == len(items) == count else f"{well} of {len(items)} nodes ready"

    limit.await_items(
        target.api(""),
        NODES,
        why_not,
        what=f"pool {pool} has {count} nodes, all ready",
        labelSelector=f"{POOL_LABEL}={pool}",
    )
