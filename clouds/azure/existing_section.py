"""Existing parts of a site in Azure, which the environment names so that Longhaul does not make them."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from clouds.base.section import LeftOut, Section

_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_GROUP = r"[A-Za-z0-9._()-]{0,89}[A-Za-z0-9_()-]"
_NAME = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?"
"""Names of resource groups, and of parts of networks (learn.microsoft.com, "Naming rules and restrictions for Azure
resources")."""


def _network_id(kind: str, name: str = _NAME) -> str:
    return rf"^/subscriptions/{_UUID}/resourceGroups/{_GROUP}/providers/Microsoft\.Network/{kind}/{name}$"


_EXAMPLE = "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/corp-network/providers/Microsoft.Network"

CONTROL_PLANE_SUBNETS = ("etcd", "events", "api")
"""Subnets that only the control plane's site has."""

VPN_SUBNET = "vpn"
"""Subnet of VPN machines, if the environment has any; also only in the control plane's site."""

SubnetName = Annotated[
    str,
    Field(
        pattern=rf"^{_NAME}$",
        examples=["snet-longhaul-etcd"],
        json_schema_extra={"patternErrorMessage": "the subnet's name alone, without its network's id"},
    ),
]
"""Name of a subnet in a virtual network."""


class AzureSubnets(Section):
    """Existing subnets of a virtual network, by the part of the site that uses them. Each has exactly the range that
    the address plan gives it. Longhaul makes the subnets that are left out."""

    gateway: Literal["GatewaySubnet"] | None = None
    """Subnet for the VPN gateway. Azure requires this name."""
    etcd: SubnetName | None = None
    """Subnet for members of the etcd cluster `etcd`; only in the control plane's site."""
    events: SubnetName | None = None
    """Subnet for members of the etcd cluster `events`; only in the control plane's site."""
    api: SubnetName | None = None
    """Subnet for API servers and their load balancer; only in the control plane's site."""
    vpn: SubnetName | None = None
    """Subnet for VPN machines, where the environment has `vpn`; only in the control plane's site."""
    nodes: SubnetName | None = None
    """Subnet for nodes and pods of the site's pools; its range is the address plan's pod range."""

    def named(self) -> dict[str, str]:
        """Return the names of the subnets that the file names, by part."""
        return {part: name for part in type(self).model_fields if (name := getattr(self, part))}


PublicAddress = Annotated[
    IPv4Address, WithJsonSchema({"type": "string", "format": "ipv4", "examples": ["198.51.100.10"]})
]
"""A public IPv4 address."""


class AzureVpn(Section):
    """An existing VPN gateway. It must be route-based, and its generation and size must support IPsec policies."""

    id: str = Field(
        pattern=_network_id("virtualNetworkGateways"),
        examples=[f"{_EXAMPLE}/virtualNetworkGateways/vgw-hub"],
        json_schema_extra={"patternErrorMessage": "the resource id of a virtual network gateway"},
    )
    """Resource id of the virtual network gateway. It must be in the site's `network`."""
    addresses: tuple[PublicAddress, ...] = Field(
        min_length=1, max_length=2, examples=[["198.51.100.10", "198.51.100.11"]]
    )
    """Public addresses of the gateway, in the order of its IP configurations: two when both instances are active."""


class AzureExisting(Section):
    """Existing parts of a site in Azure. Longhaul neither makes nor changes nor tags nor deletes them."""

    resource_group: str | None = Field(
        default=None,
        pattern=rf"^{_GROUP}$",
        examples=["rg-training"],
        json_schema_extra={"patternErrorMessage": "a resource group's name"},
    )
    """Resource group for the resources that Longhaul makes for the site."""
    network: str | None = Field(
        default=None,
        pattern=_network_id("virtualNetworks"),
        examples=[f"{_EXAMPLE}/virtualNetworks/vnet-training"],
        json_schema_extra={"patternErrorMessage": "the resource id of a virtual network"},
    )
    """Resource id of the site's virtual network, in any group of the subscription. Its ranges must contain the site's
    `range`."""
    subnets: AzureSubnets = Field(default_factory=AzureSubnets)
    """Existing subnets of that network."""
    dns_zone: str | None = Field(
        default=None,
        pattern=_network_id("privateDnsZones", r"[a-z0-9.-]+"),
        examples=[f"{_EXAMPLE}/privateDnsZones/lab.longhaul.internal"],
        json_schema_extra={"patternErrorMessage": "the resource id of a private DNS zone"},
    )
    """Resource id of the private DNS zone for the environment's `domain`, in any group of the subscription; only in the
    control plane's site. Longhaul makes records in it, and a link to the site's network."""
    dns_zone_linked: bool = False
    """True when the zone is already linked to the site's network, because Azure refuses a second link."""
    vpn_gateway: LeftOut[AzureVpn] = None
    """VPN gateway of the site. Longhaul makes connections to it."""


def group_of(resource_id: str) -> str:
    """Return the resource group in a resource's id."""
    return resource_id.split("/")[4]


def name_of(resource_id: str) -> str:
    """Return the resource's own name in its id."""
    return resource_id.rsplit("/", 1)[1]


def subscription_of(resource_id: str) -> str:
    """Return the subscription in a resource's id. Raise ``ValueError`` when there is none."""
    match = re.match(r"/subscriptions/([^/]+)/", resource_id)
    if match is None:
        raise ValueError(f"{resource_id} is in no subscription")
    return match[1]
