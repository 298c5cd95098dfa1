"""Existing parts of two sites, as an environment names them and as the clouds describe them."""

from __future__ import annotations

from typing import Any

from clouds.aws.site import AwsSite
from clouds.azure.existing_networks import VAULT_ENDPOINT
from clouds.azure.site import AzureSite
from components.aws.subnets import node_subnet
from components.model import Environment, SitePlan, plan
from components.model.sites.places import site_ranges
from tests.support.declared import Told

VPC, TABLE = "vpc-0123456789abcdef0", "rtb-0123456789abcdef0"
NODES = {zone: f"subnet-0123456789abcdef{index}" for index, zone in enumerate("ac")}
"""Node subnets by zone."""
GATEWAY = "vgw-0123456789abcdef0"
GATEWAY_ADDRESSES = ("198.51.100.10", "198.51.100.11")

Answers = dict[tuple[str, str], dict[str, Any]]
"""Answers of the clouds, by function and by what it is asked for."""

BY = {
    "getResourceGroup": "resourceGroupName",
    "getVirtualNetwork": "virtualNetworkName",
    "getPrivateZone": "privateZoneName",
    "getVirtualNetworkGateway": "virtualNetworkGatewayName",
    "getPublicIPAddress": "publicIpAddressName",
    "getVpc": "id",
    "getSubnet": "id",
    "getRouteTable": "routeTableId",
    "getVpnGateway": "id",
}
"""Argument of each function that says what is asked for."""


def azure_parts(subscription: str, domain: str) -> dict[str, Any]:
    """Return everything that a site in Azure can name, except the subnet of one part, which is made."""
    network = f"/subscriptions/{subscription}/resourceGroups/rg-network/providers/Microsoft.Network"
    return {
        "resource_group": "rg-training",
        "network": f"{network}/virtualNetworks/vnet-training",
        "subnets": {part: f"snet-{part}" for part in ("etcd", "api", "nodes")} | {"gateway": "GatewaySubnet"},
        "dns_zone": f"{network}/privateDnsZones/{domain}",
        "vpn_gateway": {"id": f"{network}/virtualNetworkGateways/vgw-hub", "addresses": [*GATEWAY_ADDRESSES]},
    }


def aws_parts() -> dict[str, Any]:
    """Return everything that a site in AWS can name, except the subnets of the other zones."""
    return {
        "vpc": VPC,
        "internet_gateway": "igw-0123456789abcdef0",
        "node_subnets": {zone: {"subnet": subnet, "route_table": TABLE} for zone, subnet in NODES.items()},
        "vpn_gateway": GATEWAY,
    }


def teller(environment: Environment) -> Told:
    """Return clouds that have everything that ``environment`` names, all of it fitting. Any other question is an
    error."""
    answers: Answers = {}
    for name, site in environment.sites.items():
        if isinstance(site, AzureSite) and site.existing.network:
            answers |= _azure(environment, name, site, site.existing.network)
        elif isinstance(site, AwsSite) and site.existing.vpc:
            answers |= _aws(plan(environment).sites[name], site)

    def tell(token: str, given: dict[str, Any]) -> dict[str, Any]:
        function = token.rpartition(":")[2]
        asked = str(given[BY[function]])
        assert (function, asked) in answers, f"nothing called {asked} is there for {function}"
        return answers[function, asked]

    return tell


def _azure(environment: Environment, name: str, site: AzureSite, network: str) -> Answers:
    addresses = plan(environment)
    ranges = site_ranges(addresses, name).parts
    subnets = [
        {"name": own, "addressPrefix": str(ranges[part]), "serviceEndpoints": [{"service": VAULT_ENDPOINT}]}
        for part, own in site.existing.subnets.named().items()
    ]
    public = network.rpartition("/virtualNetworks/")[0] + "/publicIPAddresses"
    instances = [
        {"publicIPAddress": {"id": f"{public}/{address}"}, "subnet": {"id": f"{network}/subnets/GatewaySubnet"}}
        for address in GATEWAY_ADDRESSES
    ]
    held = {"addressSpace": {"addressPrefixes": [str(addresses.sites[name].block)]}, "subnets": subnets}
    return {
        ("getResourceGroup", "rg-training"): {"id": "group", "name": "rg-training"},
        ("getVirtualNetwork", "vnet-training"): {"id": network, "location": site.region, **held},
        ("getPrivateZone", environment.domain): {"id": "zone", "name": environment.domain},
        ("getVirtualNetworkGateway", "vgw-hub"): {
            "id": "gateway",
            "gatewayType": "Vpn",
            "vpnType": "RouteBased",
            "ipConfigurations": instances,
        },
        **{
            ("getPublicIPAddress", address): {"id": f"{public}/{address}", "ipAddress": address}
            for address in GATEWAY_ADDRESSES
        },
    }


def _aws(own: SitePlan, site: AwsSite) -> Answers:
    ranges = {zone: str(node_subnet(own, site.zones.index(zone))) for zone in NODES}
    return {
        ("getVpc", VPC): {"id": VPC, "cidrBlock": str(own.block), "cidrBlockAssociations": []},
        **{
            ("getSubnet", subnet): {
                "id": subnet,
                "cidrBlock": ranges[zone],
                "vpcId": VPC,
                "availabilityZone": f"{site.region}{zone}",
            }
            for zone, subnet in NODES.items()
        },
        ("getRouteTable", TABLE): {"id": TABLE, "associations": [{"subnetId": one} for one in NODES.values()]},
        ("getVpnGateway", GATEWAY): {"id": GATEWAY, "attachedVpcId": VPC},
    }
