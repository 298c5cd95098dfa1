"""What of a cloud site's network is made, and what is there already: in numbers and in words."""

from __future__ import annotations

from components.model.environment import Environment
from components.model.existing import CONTROL_PLANE_SUBNETS
from components.model.sites import AwsSite, AzureSite


def makes_azure_egress(environment: Environment, site: str) -> bool:
    """Whether a NAT gateway is made for an Azure site: not when all its subnets are there already."""
    declared = environment.sites[site]
    if not isinstance(declared, AzureSite):
        return False
    parts = {"nodes", *(CONTROL_PLANE_SUBNETS if site == environment.control_plane.site else ())}
    return not parts <= declared.existing.subnets.named().keys()


def makes_vpn_gateway(environment: Environment, site: str) -> bool:
    """Whether a site with tunnels gets a VPN gateway of its own."""
    declared = environment.sites[site]
    return isinstance(declared, AzureSite | AwsSite) and declared.existing.vpn_gateway is None


def made_zones(site: AwsSite) -> tuple[str, ...]:
    """Zones whose subnets, with their NAT gateway, are made."""
    return tuple(zone for zone in site.zones if zone not in site.existing.node_subnets)


def there_already(environment: Environment, site: str) -> tuple[str, ...]:
    """What a site has already, in words."""
    declared = environment.sites[site]
    said: tuple[tuple[str, object], ...]
    if isinstance(declared, AzureSite):
        azure = declared.existing
        named = list(azure.subnets.named())
        said = (
            ("resource group", azure.resource_group),
            ("network", azure.network),
            (f"subnets {_listed(named)}" if len(named) > 1 else f"subnet {_listed(named)}", named),
            ("DNS zone", azure.dns_zone),
            ("VPN gateway", azure.vpn_gateway),
        )
    elif isinstance(declared, AwsSite):
        aws = declared.existing
        zones = list(aws.node_subnets)
        said = (
            ("VPC", aws.vpc),
            ("internet gateway", aws.internet_gateway),
            (f"node subnets {_listed(zones)}" if len(zones) > 1 else f"node subnet {_listed(zones)}", zones),
            ("VPN gateway", aws.vpn_gateway),
        )
    else:
        return ()
    return tuple(words for words, there in said if there)


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
