"""Sizes of the ranges that sites need: each site's block, and the whole environment's range."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longhaul.init.answers import Places

DEFAULT_PREFIX = 16
"""Prefix length of a site's block that the file need not say."""
SMALLEST_PREFIX = 8


def prefixes(places: Places) -> Mapping[str, int]:
    """Return the prefix length of each site's block, in the file's order: the default, or as much more as the pools'
    maxima or the hosts need."""
    found = {}
    for site in places.clouds:
        machines = sum(pool.max for pool in places.pools if pool.site == site.region)
        found[site.region] = _prefix(machines, zones=len(site.zones))
    for rack in places.racks:
        found[rack.site] = _prefix(sum(host.site == rack.site for host in places.hosts), zones=0)
    return found


def _prefix(machines: int, *, zones: int) -> int:
    fitting = (prefix for prefix in range(DEFAULT_PREFIX, SMALLEST_PREFIX, -1) if _holds(prefix, zones) >= machines)
    return next(fitting, SMALLEST_PREFIX)


def _holds(prefix: int, zones: int) -> int:
    """Return the number of nodes for which a block has addresses and pod ranges: in so many zones, or of a rack."""
    from components.model.address_plan import POD_PREFIX, machine_capacity, site_plan

    plan = site_plan(IPv4Network((10 << 24, prefix)))
    if not zones:
        return plan.hosts
    pods, nodes = plan.zone_pods(0), plan.zone_subnet(0)
    return zones * min(1 << (POD_PREFIX - pods.prefixlen), machine_capacity(nodes))


def supernet_prefix(places: Places, *, most: int) -> int:
    """Return the prefix length of the smallest range, at least a /``most``, that holds the sites' blocks one after the
    other and a sixteenth that belongs to no site."""
    end = 0
    for prefix in prefixes(places).values():
        size = 2 ** (32 - prefix)
        end = -(-end // size) * size + size
    fitting = (prefix for prefix in range(most, SMALLEST_PREFIX, -1) if end * 16 <= 15 * 2 ** (32 - prefix))
    return next(fitting, SMALLEST_PREFIX)
