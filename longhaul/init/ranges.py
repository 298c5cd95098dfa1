"""Sizes of the ranges that sites need: each site's block, and the whole environment's range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longhaul.init.answers import CloudSite, Places, PoolAnswer

DEFAULT_PREFIX = 16
"""Default prefix length of a site's block, which the file may leave out."""
SMALLEST_PREFIX = 8


def prefixes(places: Places) -> Mapping[str, int]:
    """Return the prefix length of each site's block, in the file's order: the default, or the length of a larger block
    if the pools' maxima or the hosts need that block. A block is large enough unless :func:`too_many` yields its
    site."""
    return {need.site: need.prefix() or SMALLEST_PREFIX for need in _needs(places)}


def too_many(places: Places) -> Iterator[str]:
    """Yield the problem of each site that needs more than the largest block, and of peered sites with too many machines
    together."""
    from clouds.registry import clouds
    from components.model.network.capacity import peered_room

    for need in _needs(places):
        if need.prefix() is None:
            most = max(need.room(prefix) for prefix in range(SMALLEST_PREFIX, DEFAULT_PREFIX + 1))
            yield f"{need.site}: {need.machines:,} machines, but one site holds {most:,}: the others need a second site"
    for name, cloud in clouds().items():
        sites = [site.region for site in places.clouds if site.cloud == name]
        machines = sum(pool.max for pool in places.pools if pool.site in sites)
        together = peered_room(cloud, len(sites)) if len(sites) > 1 else None
        if together is not None and machines > together:
            yield (
                f"{', '.join(sites)}: {machines:,} machines, and sites of one environment on {cloud.title} hold "
                f"{together:,} together: the others need another environment"
            )


@dataclass(frozen=True, kw_only=True)
class _Need:
    """Machines of a site, for which its block needs addresses."""

    site: str
    machines: int
    spread: int
    """Number of machines that, spread over all zones, would fill each zone as much as the fullest zone is."""
    room: Callable[[int], int]
    """Returns the number of machines that fit into a block, from its prefix length."""

    def prefix(self) -> int | None:
        """Return the prefix length of the smallest sufficient block that is at least as large as the default; None when
        no block is large enough."""
        sizes = range(DEFAULT_PREFIX, SMALLEST_PREFIX - 1, -1)
        return next((prefix for prefix in sizes if self.room(prefix) >= self.spread), None)


def _needs(places: Places) -> Iterator[_Need]:
    for site in places.clouds:
        pools = [pool for pool in places.pools if pool.site == site.region]
        machines, spread = sum(pool.max for pool in pools), _spread(site, pools)
        yield _Need(site=site.region, machines=machines, spread=spread, room=partial(pool_room, site))
    for rack in places.racks:
        hosts = sum(host.site == rack.site for host in places.hosts)
        yield _Need(site=rack.site, machines=hosts, spread=hosts, room=host_room)


def _spread(site: CloudSite, pools: Sequence[PoolAnswer]) -> int:
    """Return the number of machines that, spread over all zones, would fill each zone as much as the fullest zone.
    Pools with zones of their own fill only these zones."""
    fixed = {zone: sum(-(-pool.max // len(pool.zones)) for pool in pools if zone in pool.zones) for zone in site.zones}
    return max(sum(pool.max for pool in pools), len(site.zones) * max(fixed.values(), default=0))


def pool_room(site: CloudSite, prefix: int) -> int:
    """Return the number of pools' nodes that fit into a cloud site's block. ``validate`` checks the file by the same
    number."""
    from clouds.registry import clouds
    from components.model.network.address_plan import site_plan
    from components.model.sites.places import ranges_of_plan

    cloud, block = clouds()[site.cloud], IPv4Network((10 << 24, prefix))
    zones: dict[str, Any] = {"zones": site.zones}
    declared = cloud.site_type.model_construct(**zones)
    return sum(room.nodes for room in cloud.limits.rooms(declared, ranges_of_plan(block, site_plan(block))))


def host_room(prefix: int) -> int:
    """Return the number of hosts that fit into the block of a site of racks."""
    from components.model.network.address_plan import site_plan

    return site_plan(IPv4Network((10 << 24, prefix))).hosts


def supernet_prefix(places: Places, *, most: int) -> int:
    """Return the prefix length of the smallest sufficient range that is at least a /``most``. The range contains the
    sites' blocks one after the other, and a sixteenth of the range belongs to no site."""
    end = 0
    for prefix in prefixes(places).values():
        size = 2 ** (32 - prefix)
        end = -(-end // size) * size + size
    fitting = (prefix for prefix in range(most, SMALLEST_PREFIX, -1) if end * 16 <= 15 * 2 ** (32 - prefix))
    return next(fitting, SMALLEST_PREFIX)
