"""Throughput of the links between sites: the largest, and what the file wants."""

from __future__ import annotations

from clouds.base.throughput import ThroughputLimit, mbit
from clouds.registry import cloud_of
from components.model.environment import Environment, Link
from components.model.network.links import LinkKind, PlannedLink


def link_limit(environment: Environment, link: PlannedLink) -> ThroughputLimit | None:
    """Return the largest throughput of a link, with the ends that set it; None when nothing is published or declared
    about it. Peering inside a cloud has no limit of its own.

    One of a link's tunnels carries at a time, however many it has: Azure has one connection to each other site, AWS
    sends through one tunnel of a virtual private gateway, and racks' routers send to one gateway.
    """
    if link.kind is LinkKind.EXISTING:
        declared = declaration(environment, link)
        if declared is None or declared.capacity is None:
            return None
        return ThroughputLimit(mbit=mbit(declared.capacity), of="your circuit (as the file declares)")
    ends = [end_limits(environment, link, name) for name in (link.first, link.second)]
    least = [min(limits, key=lambda limit: limit.mbit) for limits in ends if limits]
    if not least:
        return None
    mbit_s = min(limit.mbit for limit in least)
    packets = [limit.packets for limits in ends for limit in limits if limit.packets is not None]
    return ThroughputLimit(
        mbit=mbit_s,
        packets=min(packets, default=None),
        of=" and ".join(dict.fromkeys(limit.of for limit in least if limit.mbit == mbit_s)),
    )


def end_limits(environment: Environment, link: PlannedLink, site: str) -> list[ThroughputLimit]:
    """Return the known limits at one end of a link: of its tunnel, and of the gateway. There are none without
    tunnels."""
    if link.kind is not LinkKind.IPSEC:
        return []
    near = environment.sites[site]
    tunnels = cloud_of(near).tunnels
    return [limit for limit in (tunnels.tunnel_limit(near), tunnels.gateway_limit(near)) if limit is not None]


def wanted_mbit(environment: Environment, link: PlannedLink) -> int | None:
    """Return the throughput that the file wants of a link, Mbit/s; None when it wants none."""
    declared = declaration(environment, link)
    return mbit(declared.bandwidth) if declared and declared.bandwidth else None


def declaration(environment: Environment, link: PlannedLink) -> Link | None:
    """Return the file's entry about a link, if there is one."""
    pair = {link.first, link.second}
    return next((declared for declared in environment.links if set(declared.between) == pair), None)
