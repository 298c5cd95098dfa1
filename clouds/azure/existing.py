"""What a company has in Azure already: parts of a site that the environment names, so that they are not made."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from clouds.base.section import Section

_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_GROUP = r"[A-Za-z0-9._()-]{0,89}[A-Za-z0-9_()-]"
_NAME = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?"
"""A group's name and a network part's (learn.microsoft.com, "Naming rules and restrictions for Azure resources")."""


def _network_id(kind: str, name: str = _NAME) -> str:
    return rf"^/subscriptions/{_UUID}/resourceGroups/{_GROUP}/providers/Microsoft\.Network/{kind}/{name}$"


_EXAMPLE = "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/corp-network/providers/Microsoft.Network"

CONTROL_PLANE_SUBNETS = ("etcd", "events", "api")
"""Subnets that only the control plane's site has."""

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
    """Subnets of a virtual network that is there already, by what stands in them. Each has exactly the range that the
    address plan gives it. What is left out is made in the network."""

    gateway: Literal["GatewaySubnet"] | None = None
    """The subnet of the VPN gateway, which Azure knows by this name alone."""
    etcd: SubnetName | None = None
    """Members of the main store; where the control plane is."""
    events: SubnetName | None = None
    """Members of the store for events; where the control plane is."""
    api: SubnetName | None = None
    """API servers and their load balancer; where the control plane is."""
    nodes: SubnetName | None = None
    """Nodes and pods of the site's pools: the plan's pod range."""

    def named(self) -> dict[str, str]:
        """Names by part, of those that are named."""
        return {part: name for part in type(self).model_fields if (name := getattr(self, part))}


PublicAddress = Annotated[
    IPv4Address, WithJsonSchema({"type": "string", "format": "ipv4", "examples": ["198.51.100.10"]})
]
"""A public IPv4 address."""


class AzureVpn(Section):
    """A VPN gateway that is there already: route-based, of a generation and size that take IPsec policies."""

    id: str = Field(
        pattern=_network_id("virtualNetworkGateways"),
        examples=[f"{_EXAMPLE}/virtualNetworkGateways/vgw-hub"],
        json_schema_extra={"patternErrorMessage": "the resource id of a virtual network gateway"},
    )
    """Resource id of the virtual network gateway, which stands in the site's `network`."""
    addresses: tuple[PublicAddress, ...] = Field(
        min_length=1, max_length=2, examples=[["198.51.100.10", "198.51.100.11"]]
    )
    """Its public addresses, in the order of its IP configurations: two where both instances are active."""


class AzureExisting(Section):
    """What is in Azure already. Longhaul neither makes nor changes nor tags nor deletes it."""

    resource_group: str | None = Field(
        default=None,
        pattern=rf"^{_GROUP}$",
        examples=["rg-training"],
        json_schema_extra={"patternErrorMessage": "a resource group's name"},
    )
    """Group that the site's resources are made in."""
    network: str | None = Field(
        default=None,
        pattern=_network_id("virtualNetworks"),
        examples=[f"{_EXAMPLE}/virtualNetworks/vnet-training"],
        json_schema_extra={"patternErrorMessage": "the resource id of a virtual network"},
    )
    """Resource id of the site's virtual network, in any group of the subscription. It holds the site's `range`."""
    subnets: AzureSubnets = Field(default_factory=AzureSubnets)
    """Subnets of that network."""
    dns_zone: str | None = Field(
        default=None,
        pattern=_network_id("privateDnsZones", r"[a-z0-9.-]+"),
        examples=[f"{_EXAMPLE}/privateDnsZones/lab.longhaul.internal"],
        json_schema_extra={"patternErrorMessage": "the resource id of a private DNS zone"},
    )
    """Resource id of the private DNS zone of the environment's `domain`, in any group of the subscription; where the
    control plane is. Records are made in it, and a link to the site's network."""
    dns_zone_linked: bool = False
    """Whether the zone is linked to the site's network already: Azure refuses a second link."""
    vpn_gateway: AzureVpn | None = None
    """The site's VPN gateway. Connections are made to it."""


def group_of(resource_id: str) -> str:
    """The resource group in a resource's id."""
    return resource_id.split("/")[4]


def name_of(resource_id: str) -> str:
    """The resource's own name in its id."""
    return resource_id.rsplit("/", 1)[1]


def subscription_of(resource_id: str) -> str:
    """The subscription in a resource's id; ``ValueError`` when it has none."""
    found = re.match(r"/subscriptions/([^/]+)/", resource_id)
    if found is None:
        raise ValueError(f"{resource_id} is in no subscription")
    return found[1]
