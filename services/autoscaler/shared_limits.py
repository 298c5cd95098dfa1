"""Limits that several pools share: the environment's nodes, and the addresses of sites and zones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from clouds.registry import cloud_of
from components.model import plan
from components.model.sites.places import site_ranges
from contract.reasons.autoscaler import WaitReason
from services.autoscaler.cluster_snapshot import (
    ClusterNode,
    ScalingPool,
    SharedLimit,
)

if TYPE_CHECKING:
    from components.model import Environment


def shared_limits(
    environment: Environment, known: Sequence[ScalingPool], nodes: Sequence[ClusterNode], *, sizes: Mapping[str, int]
) -> Iterator[SharedLimit]:
    """Yield shared limits: ``max_nodes``, and the addresses of sites and zones. For a pool whose cloud does not answer,
    the largest of its last known size, its nodes and its groups' remembered ``sizes`` counts."""
    hosts, there = len(environment.hosts), Counter(node.pool for node in nodes)
    present = {pool.name: _present(pool, there[pool.name], sizes) for pool in known}
    if environment.max_nodes is not None:
        left = environment.max_nodes - hosts - sum(present.values())
        yield SharedLimit(
            name=f"max_nodes, {environment.max_nodes:,},",
            reason=WaitReason.MAX_NODES,
            left=left,
            each=_each(environment.pools),
        )
    addresses, used_up = plan(environment), WaitReason.ADDRESSES_USED_UP
    for site, declared in environment.sites.items():
        of_site = {name: pool for name, pool in environment.pools.items() if pool.site == site}
        rooms = cloud_of(declared).limits.rooms(declared, site_ranges(addresses, site)) if of_site else ()
        for room in rooms:
            confined = [name for name, pool in of_site.items() if pool.zones and {*pool.zones} <= {*room.zones}]
            left = room.nodes - sum(present[name] for name in confined)
            yield SharedLimit(
                name=f"the number of addresses in {room.range}", reason=used_up, left=left, each=_each(confined)
            )
        if rooms:
            left = sum(room.nodes for room in rooms) - sum(present[name] for name in of_site)
            yield SharedLimit(name=f"the number of addresses in {site}", reason=used_up, left=left, each=_each(of_site))


def _present(pool: ScalingPool, nodes: int, sizes: Mapping[str, int]) -> int:
    """Return the number of machines that a pool has or is asked for."""
    wanted = sum(max(group.wanted - len(group.refused), group.machines) for group in pool.groups)
    if not any(group.error for group in pool.groups):
        return wanted
    return max(wanted, nodes, sum(sizes.get(group.name, 0) for group in pool.groups))


def _each(names: Sequence[str] | Mapping[str, object]) -> tuple[tuple[str, int], ...]:
    return tuple((name, 1) for name in names)
