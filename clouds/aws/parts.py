"""Parts of a site in AWS: parts that Longhaul makes, and existing ones."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from clouds.aws.site import AwsSite
from clouds.aws.tunnels import TUNNELS
from clouds.base.checks import zones_of
from clouds.base.parts import MACHINE_CONNECTIONS, SiteParts
from clouds.base.phrases import word_list
from clouds.base.place import Place
from clouds.base.prices import Part
from clouds.base.tunnels import Risk
from contract.reasons.plan import FileReason

CONNECTIONS = 55_000
"""Connections to one destination at a time from each address of a NAT gateway (docs.aws.amazon.com, VPC user guide,
"NAT gateway basics")."""
UNASKED_ADDRESSES = 2
"""Number of addresses of a NAT gateway without a larger quota (VPC user guide, "Amazon VPC quotas")."""
UNASKED_REGION_ADDRESSES = 5
"""Number of Elastic IPs of a region without a larger quota ("Amazon VPC quotas")."""
MOST_ADDRESSES = 8
"""Largest number of addresses of a NAT gateway with a larger quota ("Amazon VPC quotas")."""


def made_zones(site: AwsSite) -> tuple[str, ...]:
    """Return the zones for which Longhaul makes subnets and a NAT gateway."""
    return tuple(zone for zone in site.zones if zone not in site.existing.node_subnets)


def egress_addresses(place: Place[AwsSite], zone: str) -> int:
    """Return the number of addresses of a zone's NAT gateway: enough connections for the zone's share of the pools'
    largest sizes, at most 8. A group fills its zones evenly (``components/aws/pools.py``)."""
    spread = [(pool.max, zones_of(place, pool)) for pool in place.pools.values()]
    machines = sum(ceil(most / len(zones)) for most, zones in spread if zone in zones)
    return min(max(1, ceil(machines * MACHINE_CONNECTIONS / CONNECTIONS)), MOST_ADDRESSES)


def egress_parts(place: Place[AwsSite], zone: str) -> tuple[str, ...]:
    """Return the names of the addresses of a zone's NAT gateway within the network's. The first keeps its name when
    others join it."""
    first = f"egress-{zone}"
    return tuple(first if number == 0 else f"{first}-{number}" for number in range(egress_addresses(place, zone)))


def site_addresses(place: Place[AwsSite]) -> int:
    """Return the number of Elastic IPs that Longhaul makes for a site."""
    return sum(egress_addresses(place, zone) for zone in made_zones(place.site))


class AwsSiteParts(SiteParts[AwsSite]):
    """Parts of sites in AWS."""

    def hourly_parts(self, place: Place[AwsSite], remote: int) -> Iterator[tuple[Part, int]]:
        """Yield the parts that AWS charges for by the hour. These are a NAT gateway with its addresses in each zone
        (``components/aws/network.py``), and one VPN connection for each address of remote gateways
        (``components/environment/links.py``), with an address for each tunnel. AWS charges for every public IPv4
        address except those that a customer brings (aws.amazon.com/blogs, "Identify and optimize public IPv4 address
        usage on AWS"). It counts a VPN's addresses too (``IpamPublicAddressAwsService``, ``site-to-site-vpn``)."""
        yield "nat-gateway", len(made_zones(place.site))
        yield "public-address", site_addresses(place) + remote * TUNNELS
        yield "vpn-connection", remote

    def risks(self, place: Place[AwsSite]) -> Iterator[Risk]:
        """Yield a risk if the site takes more Elastic IPs than AWS gives unasked."""
        each = max((egress_addresses(place, zone) for zone in made_zones(place.site)), default=0)
        site = site_addresses(place)
        if each > UNASKED_ADDRESSES or site > UNASKED_REGION_ADDRESSES:
            yield Risk(
                reason=FileReason.ADDRESSES_BEYOND_QUOTA,
                what=f"{place.name} takes {site} Elastic IPs, up to {each} for a NAT gateway.",
                where=f"sites.{place.name}",
                why=f"AWS gives {UNASKED_REGION_ADDRESSES} for a region and {UNASKED_ADDRESSES} for a NAT gateway "
                "unasked, and refuses the others.",
                do="Request both quotas first: `longhaul doctor --only quotas` says how "
                "(docs/network.md#addresses-of-an-aws-sites-egress).",
            )

    def existing_parts(self, site: AwsSite) -> tuple[str, ...]:
        """Return a phrase for each existing part that the site names."""
        existing, zones = site.existing, list(site.existing.node_subnets)
        parts = (
            ("VPC", existing.vpc),
            ("internet gateway", existing.internet_gateway),
            (f"node subnet{'s' if len(zones) > 1 else ''} {word_list(zones)}", zones),
            ("VPN gateway", existing.vpn_gateway),
        )
        return tuple(words for words, there in parts if there)
