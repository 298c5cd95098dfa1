"""Parts of a site that are made in AWS, and parts that are there already."""

from __future__ import annotations

from clouds.aws.site import AwsSite
from clouds.base.words import listed


def made_zones(site: AwsSite) -> tuple[str, ...]:
    """Zones whose subnets, with their NAT gateway, are made."""
    return tuple(zone for zone in site.zones if zone not in site.existing.node_subnets)


def makes_vpn_gateway(site: AwsSite) -> bool:
    """Whether the site gets a VPN gateway of its own, if it has tunnels."""
    return site.existing.vpn_gateway is None


def there_already(site: AwsSite) -> tuple[str, ...]:
    """What the site has already, in words."""
    existing, zones = site.existing, list(site.existing.node_subnets)
    said = (
        ("VPC", existing.vpc),
        ("internet gateway", existing.internet_gateway),
        (f"node subnet{'s' if len(zones) > 1 else ''} {listed(zones)}", zones),
        ("VPN gateway", existing.vpn_gateway),
    )
    return tuple(words for words, there in said if there)
