"""Links out of networks to other networks: over a cloud's gateway, or over a peering. Nothing here has side effects.

The subnets' routes decide what a link carries: packets of a subnet, and of the routed ranges of its machines, to the
route's destination. No other packet leaves over the link, and only packets from the link's other end come in.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from lab.desired import DesiredGateway, DesiredMachine, DesiredSubnet, Network, World
from lab.hypervisor import addresses

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Permit:
    """Traffic that a subnet's route permits."""

    sources: tuple[IPv4Network, ...]
    destination: IPv4Network


@dataclass(frozen=True, kw_only=True)
class RouterLink:
    """One link out of a network, as its router sees it."""

    link: str
    """Name of the router's interface."""
    near: IPv4Address
    """Address of the router on the link."""
    hop: IPv4Address
    """Address of the next hop."""
    origins: tuple[IPv4Network, ...]
    """Ranges from which packets may come in over the link."""
    permits: tuple[Permit, ...]


def sending_ranges(subnet: DesiredSubnet, machines: Sequence[DesiredMachine]) -> tuple[IPv4Network, ...]:
    """Return all ranges from which a subnet's machines send."""
    routed = (range_ for machine in machines if machine.address.ip in subnet.range for range_ in machine.routed)
    return (subnet.range, *routed)


def inside_addresses(gateway: DesiredGateway, network: Network) -> tuple[IPv4Address, ...]:
    """Return the addresses of a gateway in its network, one in each range that its tunnels carry: the network's first
    address (which no machine has) if the range holds that address, else the range's first address. charon routes to a
    tunnel's other end only if it has an address in the tunnel's local ranges."""
    first = network.ranges[0].network_address
    carried = (range_ for tunnel in gateway.tunnels for range_ in tunnel.local_ranges)
    return tuple(sorted({first if first in range_ else range_.network_address for range_ in carried}))


def router_links(network: Network, world: World) -> tuple[RouterLink, ...]:
    """Return the links out of ``network``."""
    here = [machine for machine in world.machines if machine.network == network.id]
    return (*_gateways(network, world, here), *_peerings(network, world, here))


def _gateways(network: Network, world: World, here: Sequence[DesiredMachine]) -> Iterator[RouterLink]:
    for gateway in world.gateways:
        if gateway.network == network.id:
            origins = {range_ for tunnel in gateway.tunnels for range_ in tunnel.remote_ranges}
            # The gateway's own packets count too: it must report packets that are too large for a tunnel.
            origins |= {IPv4Network(address) for address in inside_addresses(gateway, network)}
            yield RouterLink(
                link=addresses.gateway_link(gateway.id),
                near=addresses.NEAR,
                hop=addresses.FAR,
                origins=tuple(sorted(origins)),
                permits=_permits(network, gateway.id, here),
            )


def _peerings(network: Network, world: World, here: Sequence[DesiredMachine]) -> Iterator[RouterLink]:
    ranges = {other.id: other.ranges for other in world.networks}
    for peering in world.peerings:
        ends = (peering.first, peering.second)
        if network.id in ends and all(end in ranges for end in ends):
            first = network.id == peering.first
            near, hop = (addresses.NEAR, addresses.FAR) if first else (addresses.FAR, addresses.NEAR)
            yield RouterLink(
                link=addresses.peering_link(peering.id),
                near=near,
                hop=hop,
                origins=ranges[peering.second if first else peering.first],
                permits=_permits(network, peering.id, here),
            )


def _permits(network: Network, via: str, here: Sequence[DesiredMachine]) -> tuple[Permit, ...]:
    return tuple(
        Permit(sources=sending_ranges(subnet, here), destination=route.destination)
        for subnet in network.subnets
        for route in subnet.routes
        if route.via == via
    )


def routes(links: Sequence[RouterLink]) -> dict[IPv4Network, RouterLink]:
    """Return the link for each destination. A router has one routing table: if two links lead to one destination, the
    router uses the first link, and the rules drop packets that another subnet would send over the second link."""
    chosen: dict[IPv4Network, RouterLink] = {}
    for router_link in links:
        for permit in router_link.permits:
            other = chosen.setdefault(permit.destination, router_link)
            if other is not router_link:
                _LOG.error(
                    "%s is routed by %s and by %s: the first is taken", permit.destination, other.link, router_link.link
                )
    return chosen
