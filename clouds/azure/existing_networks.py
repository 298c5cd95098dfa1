"""Checks that an existing network and an existing gateway fit the address plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from clouds.azure.existing_section import AzureVpn
from clouds.azure.names import STORAGE, subnet_name
from clouds.azure.parts import control_subnets, makes_vpn_gateway
from clouds.azure.site import AzureSite
from clouds.base import existing_networks
from clouds.base.existing_networks import FoundNetwork, FoundSubnet, ranges_text
from clouds.base.place import Place
from clouds.base.ranges import SiteRanges

VAULT_ENDPOINT = "Microsoft.KeyVault"
"""Service endpoint through which a subnet reaches vaults without leaving Azure's network."""


BACKUP_SUBNETS = ("etcd", "events")
"""Subnets of machines that make backups."""


@dataclass(frozen=True, kw_only=True)
class FoundGateway:
    """An existing virtual network gateway, as Azure reports it."""

    gateway_type: str
    vpn_type: str
    size: str
    """Name of its SKU."""
    addresses: tuple[str, ...]
    """Public addresses, in the order of its IP configurations."""
    subnets: tuple[str, ...]
    """Resource ids of the subnets that it is in."""


def network_faults(network: FoundNetwork, place: Place[AzureSite], ranges: SiteRanges) -> Iterator[str]:
    """Yield the reasons why a virtual network and its named subnets cannot be the site's."""
    yield from existing_networks.network_faults(network, ranges, region=place.site.region)
    wanted, named = ranges.parts, place.site.existing.subnets.named()
    for part, name in named.items():
        subnet = network.subnets.get(name.lower())
        if subnet is None:
            yield f"it has no subnet {name}, named for {part}; make it with {wanted[part]}, or leave `{part}` out"
            continue
        yield from (
            f"its subnet {name}, named for {part}, {fault}" for fault in _subnet(subnet, part, wanted[part], place)
        )
    for part, range_ in wanted.items():
        if part not in named and part in made_parts(place):
            for name, subnet in network.subnets.items():
                # A subnet with this name and range was made by an earlier `longhaul up`.
                ours = name == subnet_name(place, part).lower() and subnet.ranges == (range_,)
                if not ours and any(taken.overlaps(range_) for taken in subnet.ranges):
                    yield f"its subnet {name} overlaps {range_}, the range of the new subnet for {part}"


def made_parts(place: Place[AzureSite]) -> tuple[str, ...]:
    """Return the parts of a site that need a subnet. The gateway is one of them only when the site has tunnels and
    names no VPN gateway."""
    return (
        *(("gateway",) if place.has_tunnels and makes_vpn_gateway(place.site) else ()),
        *control_subnets(place),
        "nodes",
    )


def _subnet(subnet: FoundSubnet, part: str, wanted: IPv4Network, place: Place[AzureSite]) -> Iterator[str]:
    if subnet.ranges != (wanted,):
        yield f"has {ranges_text(subnet.ranges)}, and the address plan {wanted}; they must be equal"
    if subnet.delegated:
        yield f"is delegated to {subnet.delegated}; end the delegation"
    if part in control_subnets(place) and VAULT_ENDPOINT not in subnet.endpoints:
        yield f"lacks the service endpoint {VAULT_ENDPOINT}, through which machines reach the vault; add it"
    if place.has_backups and part in BACKUP_SUBNETS and STORAGE not in subnet.endpoints:
        yield f"lacks the service endpoint {STORAGE}, through which members reach the backups; add it"


def gateway_faults(gateway: FoundGateway, vpn: AzureVpn, *, network: str) -> Iterator[str]:
    """Yield the reasons why a gateway cannot end the tunnels of the site. ``network`` is the id of the site's
    network."""
    if gateway.gateway_type != "Vpn" or gateway.vpn_type != "RouteBased":
        yield (
            f"it is {gateway.gateway_type}, {gateway.vpn_type}; "
            "only route-based VPN gateways support the tunnels' policies"
        )
    if gateway.size == "Basic":
        yield "its size is Basic, which supports no IPsec policies; name a larger one"
    if [IPv4Address(address) for address in gateway.addresses] != list(vpn.addresses):
        real, declared = ", ".join(gateway.addresses) or "none", ", ".join(map(str, vpn.addresses))
        yield f"its addresses are {real}, and the file has {declared}; write the former"
    outside = [subnet for subnet in gateway.subnets if not subnet.lower().startswith(f"{network.lower()}/")]
    if outside:
        yield f"it stands in {outside[0].rpartition('/subnets/')[0]}, not in the site's network"
