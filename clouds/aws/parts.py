"""Parts of a site in AWS: parts that Longhaul makes, and existing ones."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.aws.site import AwsSite
from clouds.aws.tunnels import TUNNELS
from clouds.base.parts import SiteParts
from clouds.base.phrases import word_list
from clouds.base.place import Place
from clouds.base.prices import Part


def made_zones(site: AwsSite) -> tuple[str, ...]:
    """Return the zones for which Longhaul makes subnets and a NAT gateway."""
    return tuple(zone for zone in site.zones if zone not in site.existing.node_subnets)


class AwsSiteParts(SiteParts[AwsSite]):
    """Parts of sites in AWS."""

    def hourly_parts(self, place: Place[AwsSite], remote: int) -> Iterator[tuple[Part, int]]:
        """Yield the parts that AWS charges for by the hour. These are a NAT gateway with an address in each zone
        (``components/aws/network.py``), and one VPN connection for each address of remote gateways
        (``components/environment/links.py``), with an address for each tunnel. AWS charges for every public IPv4
        address except those that a customer brings (aws.amazon.com/blogs, "Identify and optimize public IPv4 address
        usage on AWS"). It counts a VPN's addresses too (``IpamPublicAddressAwsService``, ``site-to-site-vpn``)."""
        zones = len(made_zones(place.site))
        yield "nat-gateway", zones
        yield "public-address", zones + remote * TUNNELS
        yield "vpn-connection", remote

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
