"""Division of a site's ranges into the subnets of a VPC."""

from __future__ import annotations

from ipaddress import IPv4Network

from components.model import SitePlan
from components.model.network.site_ranges import nth_subnet

FIRST_PUBLIC = 8
"""Index of the first zone's public subnet among the sixteenths of the infrastructure range. The address plan's own
parts have lower indices."""


def node_subnet(site: SitePlan, zone: int) -> IPv4Network:
    """Return the subnet of a zone's nodes and their pods. Both are in one subnet, because EC2 assigns an interface's
    prefix from the interface's own subnet (docs.aws.amazon.com, "Prefix delegation for Amazon EC2 network
    interfaces")."""
    return site.zone_pods(zone)


def public_subnet(site: SitePlan, zone: int) -> IPv4Network:
    """Return the subnet of a zone's NAT gateway."""
    return nth_subnet(site.infra, site.infra.prefixlen + 4, FIRST_PUBLIC + zone)
