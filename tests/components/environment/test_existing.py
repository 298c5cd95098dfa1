"""A site on a company's existing parts: nothing that is named is made, and what does not fit is reported."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from components.environment.existing import ExistingError
from components.model import Environment
from tests.model import make
from tests.support.declared import Program, Told
from tests.support.whole import declare_whole, with_few_machines

NETWORK = make.azure_existing()["network"]
FITTING = {
    "snet-etcd": "10.64.1.0/24",
    "snet-events": "10.64.2.0/24",
    "snet-api": "10.64.3.0/24",
    "snet-vpn": "10.64.5.0/24",
    "snet-nodes": "10.64.128.0/17",
}
ZONES = {"subnet-0123456789abcdef0": ("10.65.128.0/19", "a"), "subnet-0123456789abcdef1": ("10.65.160.0/19", "b")}
OWN_NAMES = {
    "vmName",
    "vmScaleSetName",
    "networkInterfaceName",
    "networkSecurityGroupName",
    "loadBalancerName",
    "localNetworkGatewayName",
    "virtualNetworkGatewayConnectionName",
    "vaultName",
}
"""Inputs that hold the name of a resource that is made."""


@cache
def environment() -> Environment:
    """Return an environment that names every part that can exist already, except the subnet of one zone in AWS."""
    raw = make.full()
    del raw["bare_metal"], raw["waivers"]
    return with_few_machines(make.environment(raw))


def told(token: str, given: dict[str, Any]) -> dict[str, Any]:
    """Answer as clouds whose existing parts all fit."""
    match token.rpartition(":")[2]:
        case "getResourceGroup":
            return {"id": "group", "name": given["resourceGroupName"]}
        case "getVirtualNetwork":
            return {"id": NETWORK, "location": "westeurope", **network(["10.64.0.0/16"], FITTING)}
        case "getPrivateZone":
            return {"id": "zone", "name": given["privateZoneName"]}
        case "getVirtualNetworkGateway":
            addresses = NETWORK.replace("virtualNetworks/vnet-training", "publicIPAddresses")
            instances = [
                {
                    "publicIPAddress": {"id": f"{addresses}/{index}"},
                    "subnet": {"id": f"{NETWORK}/subnets/GatewaySubnet"},
                }
                for index in (10, 11)
            ]
            return {"id": "vgw", "gatewayType": "Vpn", "vpnType": "RouteBased", "ipConfigurations": instances}
        case "getPublicIPAddress":
            return {"id": "address", "ipAddress": f"198.51.100.{given['publicIpAddressName']}"}
        case "getVpc":
            return {"id": given["id"], "cidrBlock": "10.65.0.0/16", "cidrBlockAssociations": []}
        case "getSubnet":
            range_, zone = ZONES[given["id"]]
            vpc = "vpc-0123456789abcdef0"
            return {"id": given["id"], "cidrBlock": range_, "vpcId": vpc, "availabilityZone": f"us-east-1{zone}"}
        case "getRouteTable":
            return {"id": given["routeTableId"], "associations": [{"subnetId": subnet} for subnet in ZONES]}
        case "getVpnGateway":
            return {"id": given["id"], "attachedVpcId": "vpc-0123456789abcdef0"}
    raise AssertionError(token)


def network(ranges: list[str], subnets: dict[str, str], *, endpoint: str = "Microsoft.KeyVault") -> dict[str, Any]:
    shown = [
        {
            "name": name,
            "addressPrefix": range_,
            "serviceEndpoints": [{"service": endpoint}, {"service": "Microsoft.Storage"}],
        }
        for name, range_ in {**subnets, "GatewaySubnet": "10.64.0.0/24"}.items()
    ]
    return {"addressSpace": {"addressPrefixes": ranges}, "subnets": shown}


@cache
def program() -> Program:
    """Return the declared program; declared once for all tests."""
    return declare_whole(environment(), told=told)


@pytest.mark.parametrize(
    "type_",
    [
        "azure-native:resources:ResourceGroup",
        "azure-native:network:VirtualNetwork",
        "azure-native:network:Subnet",
        "azure-native:network:NatGateway",
        "azure-native:network:PublicIPAddress",
        "azure-native:network:VirtualNetworkGateway",
        "azure-native:privatedns:PrivateZone",
        "azure-native:privatedns:VirtualNetworkLink",
        "aws:ec2/vpc:Vpc",
        "aws:ec2/internetGateway:InternetGateway",
        "aws:ec2/vpnGateway:VpnGateway",
    ],
)
def test_what_is_named_is_not_made(type_: str) -> None:
    """VPN machines have public addresses of their own in any network."""
    assert not [one for one in program().of(type_) if not one.name.startswith("test-vpn-")]


def test_of_a_vpc_the_rest_is_made() -> None:
    subnets = program().of("aws:ec2/subnet:Subnet")
    assert {one.inputs["availabilityZone"] for one in subnets} == {"us-east-1c"}
    assert {one.inputs["vpcId"] for one in subnets} == {"vpc-0123456789abcdef0"}
    (default,) = [one for one in program().of("aws:ec2/route:Route") if one.name.endswith("public-default")]
    assert default.inputs["gatewayId"] == "igw-0123456789abcdef0"
    (endpoint,) = program().of("aws:ec2/vpcEndpoint:VpcEndpoint")
    assert "rtb-0123456789abcdef0" not in endpoint.inputs["routeTableIds"]
    reserved = {one.inputs["subnetId"] for one in program().of("aws:ec2/subnetCidrReservation:SubnetCidrReservation")}
    assert {*ZONES, "test-use1-network-nodes-c-id"} == reserved


def test_a_table_of_two_subnets_gets_each_route_once() -> None:
    routes = [one.inputs for one in program().of("aws:ec2/route:Route") if "gatewayId" in one.inputs]
    named = [one["destinationCidrBlock"] for one in routes if one["routeTableId"] == "rtb-0123456789abcdef0"]
    assert sorted(named) == ["10.64.0.0/16", "10.68.0.0/14"]


def test_routes_are_called_after_the_place_of_their_zone_or_after_the_named_table() -> None:
    # Zones a and b are named, and share a route table. Zone c's table is made, and has the same name as without the
    # others.
    names = {one.name for one in program().of("aws:ec2/route:Route") if one.name.startswith("test-links-weu-use1")}
    assert names == {f"test-links-weu-use1-use1-{end}" for end in ("2", "rtb-0123456789abcdef0")}


def test_machines_in_named_subnets_have_longhaul_s_rules_on_their_interfaces() -> None:
    for interface in program().of("azure-native:network:NetworkInterface"):
        part = interface.name.split("-")[1]
        assert interface.inputs["networkSecurityGroup"]["id"] == f"test-weu-{part}-rules-id"
        (address,) = interface.inputs["ipConfigurations"]
        assert address["subnet"]["id"] == f"{NETWORK}/subnets/snet-{part}"
    (scale_set,) = program().of("azure-native:compute:VirtualMachineScaleSet")
    profile = scale_set.inputs["virtualMachineProfile"]["networkProfile"]
    (interface,) = profile["networkInterfaceConfigurations"]
    assert interface["networkSecurityGroup"]["id"] == "test-weu-nodes-rules-id"


def test_records_are_made_in_the_zone_s_own_group() -> None:
    records = program().of("azure-native:privatedns:PrivateRecordSet")
    assert {one.inputs["resourceGroupName"] for one in records} == {"corp-network"}
    machines = program().of("azure-native:compute:VirtualMachine")
    assert {one.inputs["resourceGroupName"] for one in machines} == {"rg-training"}


def test_connections_are_made_to_the_named_gateways() -> None:
    azure = program().of("azure-native:network:VirtualNetworkGatewayConnection")
    assert {one.inputs["virtualNetworkGateway1"]["id"].rpartition("/")[2] for one in azure} == {"vgw-hub"}
    aws = program().of("aws:ec2/vpnConnection:VpnConnection")
    assert {one.inputs["vpnGatewayId"] for one in aws} == {"vgw-0123456789abcdef0"}
    remotes = {one.inputs["ipAddress"] for one in program().of("aws:ec2/customerGateway:CustomerGateway")}
    assert {"198.51.100.10", "198.51.100.11"} <= remotes, "AWS connects to each instance of a named gateway"


def test_names_in_the_clouds_have_the_prefix_and_the_program_s_and_hosts_have_not() -> None:
    for one in program().clouds():
        own = {value for key, value in one.inputs.items() if key in OWN_NAMES}
        assert all(value.startswith("corp-test-") for value in own), one.name
        assert not one.name.startswith("corp")
    (machine,) = [one for one in program().of("azure-native:compute:VirtualMachine") if one.name.endswith("etcd-0")]
    assert (machine.inputs["vmName"], machine.inputs["osProfile"]["computerName"]) == (
        "corp-test-etcd-0",
        "test-etcd-0",
    )
    assert {one.inputs["name"] for one in program().of("aws:iam/role:Role")} == {
        "corp-test-use1-node",
        "corp-test-node-controller",
        "corp-test-autoscaler",
    }


def test_the_provider_takes_the_declared_account_only() -> None:
    (provider,) = program().of("pulumi:providers:aws")
    assert "123456789012" in str(provider.inputs["allowedAccountIds"])


def otherwise(function: str, **answer: Any) -> Told:
    """Return the clouds with one answer changed."""

    def ask(token: str, given: dict[str, Any]) -> dict[str, Any]:
        found = told(token, given)
        return {**found, **answer} if token.endswith(f":{function}") else found

    return ask


@pytest.mark.parametrize(
    ("ask", "at", "says"),
    [
        (
            otherwise("getVirtualNetwork", **network(["10.64.0.0/17"], FITTING)),
            "sites.weu.existing.network",
            r"10\.64\.0\.0/17, do not contain 10\.64\.0\.0/16",
        ),
        (
            otherwise("getVirtualNetwork", **network(["10.64.0.0/16"], {**FITTING, "snet-api": "10.64.4.0/24"})),
            "sites.weu.existing.network",
            r"snet-api, named for api, has 10\.64\.4\.0/24, and the address plan 10\.64\.3\.0/24",
        ),
        (
            otherwise("getVirtualNetworkGateway", gatewayType="ExpressRoute"),
            "sites.weu.existing.vpn_gateway",
            "it is ExpressRoute",
        ),
        (
            otherwise(
                "getVpc",
                cidrBlockAssociations=[{"associationId": "i", "cidrBlock": "10.66.0.0/16", "state": "associated"}],
            ),
            "sites.use1.existing.vpc",
            r"it has 10\.66\.0\.0/16 besides",
        ),
        (
            otherwise("getRouteTable", associations=[]),
            r"sites.use1.existing.node_subnets.[ab].route_table",
            "not associated with it",
        ),
    ],
)
def test_what_does_not_fit_is_said_with_its_key(ask: Told, at: str, says: str) -> None:
    with pytest.raises(ExistingError, match=rf"(?s)^{at}: .*{says}"):
        declare_whole(with_few_machines(environment()), told=ask)
