"""Parts of a site in Azure: parts that Longhaul makes, and existing ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

from clouds.azure.existing_section import CONTROL_PLANE_SUBNETS, VPN_SUBNET
from clouds.azure.site import AzureSite
from clouds.azure.tunnels import gateway_addresses
from clouds.azure.vpn_gateway import SizeName
from clouds.base.parts import MACHINE_CONNECTIONS, SiteParts
from clouds.base.phrases import word_list
from clouds.base.place import Place
from clouds.base.prices import Part

CONNECTIONS = 50_000
"""Connections to one destination at a time from each address of a NAT gateway (azure-docs ``nat-gateway-resource.md``,
"Performance"). It is less than the address has ports, 64,512 ("SNAT ports")."""
MOST_ADDRESSES = 16
"""Largest number of addresses of a NAT gateway (``nat-gateway-resource.md``, "Static public IP addresses")."""

GATEWAY_PARTS: Mapping[SizeName, Part] = {
    "VpnGw1AZ": "vpn-gateway-VpnGw1AZ",
    "VpnGw2AZ": "vpn-gateway",
    "VpnGw3AZ": "vpn-gateway-VpnGw3AZ",
    "VpnGw4AZ": "vpn-gateway-VpnGw4AZ",
    "VpnGw5AZ": "vpn-gateway-VpnGw5AZ",
}
"""Part with a price for each size of a VPN gateway."""


def control_subnets(place: Place[AzureSite]) -> tuple[str, ...]:
    """Return the parts of a site whose machines fetch secrets from the vault: the control plane's parts, and the part
    for the laptops' VPN."""
    if not place.is_control:
        return ()
    return (*CONTROL_PLANE_SUBNETS, *([VPN_SUBNET] if place.vpn_machines else []))


def makes_egress(place: Place[AzureSite]) -> bool:
    """Return whether Longhaul makes a NAT gateway. It makes none when all subnets of the site exist already."""
    parts = {"nodes", *control_subnets(place)}
    return not parts <= place.site.existing.subnets.named().keys()


def egress_addresses(place: Place[AzureSite]) -> int:
    """Return the number of addresses of the NAT gateway: enough connections for the pools' largest sizes, at most 16.
    The few machines of the control plane are not counted. It is 0 when Longhaul makes no NAT gateway."""
    if not makes_egress(place):
        return 0
    nodes = "nodes" not in place.site.existing.subnets.named()
    machines = sum(pool.max for pool in place.pools.values()) if nodes else 0
    return min(max(1, ceil(machines * MACHINE_CONNECTIONS / CONNECTIONS)), MOST_ADDRESSES)


def egress_names(place: Place[AzureSite]) -> tuple[str, ...]:
    """Return the names of the NAT gateway's addresses in the program. The first keeps its name when others join it."""
    first = f"{place.environment}-{place.name}-egress"
    return tuple(first if number == 0 else f"{first}-{number}" for number in range(egress_addresses(place)))


def makes_vpn_gateway(site: AzureSite) -> bool:
    """Return whether Longhaul makes a VPN gateway for the site when the site has tunnels."""
    return site.existing.vpn_gateway is None


def public_addresses(place: Place[AzureSite]) -> int:
    """Return the number of public addresses that Longhaul makes: for the NAT gateway, the VPN gateway, and machines of
    the laptops' VPN."""
    gateway = place.has_tunnels and makes_vpn_gateway(place.site)
    return egress_addresses(place) + (gateway_addresses(place.site) if gateway else 0) + place.vpn_machines


class AzureSiteParts(SiteParts[AzureSite]):
    """Parts of sites in Azure."""

    def hourly_parts(self, place: Place[AzureSite], remote: int) -> Iterator[tuple[Part, int]]:
        """Yield the parts that Azure charges for by the hour: a NAT gateway (``components/azure/network.py``), public
        addresses, and a VPN gateway if the site has tunnels (``components/azure/vpn.py``). Only parts that Longhaul
        makes count."""
        yield "nat-gateway", int(makes_egress(place))
        yield "public-address", public_addresses(place)
        yield GATEWAY_PARTS[place.site.vpn_gateway_size], int(place.has_tunnels and makes_vpn_gateway(place.site))

    def has_dns_zone(self, site: AzureSite) -> bool:
        """Return whether the site names an existing private DNS zone."""
        return site.existing.dns_zone is not None

    def existing_parts(self, site: AzureSite) -> tuple[str, ...]:
        """Return a phrase for each existing part that the site names."""
        existing, named = site.existing, list(site.existing.subnets.named())
        parts = (
            ("resource group", existing.resource_group),
            ("network", existing.network),
            (f"subnet{'s' if len(named) > 1 else ''} {word_list(named)}", named),
            ("DNS zone", existing.dns_zone),
            ("VPN gateway", existing.vpn_gateway),
        )
        return tuple(words for words, there in parts if there)
