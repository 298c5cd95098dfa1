"""Sizes of the ranges that sites need: each site's block, and the whole environment's range."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import IPv4Network
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longhaul.init.answers import CloudSite, Places

DEFAULT_PREFIX = 16
"""Prefix length of a site's block that the file need not say."""
SMALLEST_PREFIX = 8


def prefixes(places: Places) -> Mapping[str, int]:
    """Return the prefix length of each site's block, in the file's order: the default, or as much more as the pools'
    maxima or the hosts need."""
    found = {}
    for site in places.clouds:
        machines = sum(pool.max for pool in places.pools if pool.site == site.region)
        found[site.region] = _prefix(machines, partial(pool_room, site))
    for rack in places.racks:
        found[rack.site] = _prefix(sum(host.site == rack.site for host in places.hosts), host_room)
    return found


def _prefix(machines: int, room: Callable[[int], int]) -> int:
    fitting = (prefix for prefix in range(DEFAULT_PREFIX, SMALLEST_PREFIX, -1) if room(prefix) >= machines)
    return next(fitting, SMALLEST_PREFIX)


def pool_room(site: CloudSite, prefix: int) -> int:
    """Return the number of nodes of pools that a cloud's site holds in a block: what ``validate`` asks of the file."""
    from clouds.registry import clouds
    from components.model.address_plan import site_plan
    from components.model.places import ranges_of_plan

    cloud, block = clouds()[site.cloud], IPv4Network((10 << 24, prefix))
    zones: dict[str, Any] = {"zones": site.zones}
    declared = cloud.site_type.model_construct(**zones)
    return sum(room.nodes for room in cloud.promises.rooms(declared, ranges_of_plan(block, site_plan(block))))


def host_room(prefix: int) -> int:
    """Return the number of hosts that a site of racks holds in a block."""
    from components.model.address_plan import site_plan

    return site_plan(IPv4Network((10 << 24, prefix))).hosts


def supernet_prefix(places: Places, *, most: int) -> int:
    """Return the prefix length of the smallest range, at least a /``most``, that holds the sites' blocks one after the
    other and a sixteenth that belongs to no site."""
    end = 0
    for prefix in prefixes(places).values():
        size = 2 ** (32 - prefix)
        end = -(-end // size) * size + size
    fitting = (prefix for prefix in range(most, SMALLEST_PREFIX, -1) if end * 16 <= 15 * 2 ** (32 - prefix))
    return next(fitting, SMALLEST_PREFIX)
