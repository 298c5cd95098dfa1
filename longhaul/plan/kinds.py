"""What a resource is to the cluster, by its type."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from longhaul.plan.changes import Change


class Kind(StrEnum):
    """What a resource is, in a reader's words."""

    MACHINE = "machine"
    POOL = "pool's group"
    VAULT = "vault"
    AUTHORITY = "authority"
    KEY = "shared key"
    CERTIFICATE = "certificate"
    DATA = "data store"
    GROUP = "resource group"
    GUARD = "guard against destruction"
    BALANCER = "load balancer"
    VPN_GATEWAY = "VPN gateway"
    EGRESS = "egress gateway"
    ADDRESS = "public address"
    TUNNEL = "tunnel part"
    PEERING = "peering"
    NETWORK = "network"
    ROUTE = "route"
    RULE = "security rule"
    NAME = "name"
    RIGHT = "right"
    QUIET = "note of Longhaul's own"
    """Nothing that anybody uses: what waits, and what remembers."""
    OTHER = "resource"


_OWN = "pulumi-python:dynamic/longhaul:"

_KINDS: Mapping[str, Kind] = {
    "azure-native:compute:VirtualMachine": Kind.MACHINE,
    "azure-native:compute:VirtualMachineScaleSet": Kind.POOL,
    "aws:autoscaling/group:Group": Kind.POOL,
    "azure-native:keyvault:Vault": Kind.VAULT,
    f"{_OWN}CertificateAuthority": Kind.AUTHORITY,
    f"{_OWN}Secret": Kind.KEY,
    f"{_OWN}Certificate": Kind.CERTIFICATE,
    f"{_OWN}TunnelKey": Kind.TUNNEL,
    f"{_OWN}DestructionGuard": Kind.GUARD,
    f"{_OWN}Readiness": Kind.QUIET,
    f"{_OWN}Founded": Kind.QUIET,
    f"{_OWN}VaultAccess": Kind.QUIET,
    f"{_OWN}Held": Kind.QUIET,
    "azure-native:resources:ResourceGroup": Kind.GROUP,
    "azure-native:compute:Disk": Kind.DATA,
    "azure-native:compute:Snapshot": Kind.DATA,
    "azure-native:storage:StorageAccount": Kind.DATA,
    "azure-native:storage:BlobContainer": Kind.DATA,
    "azure-native:storage:BlobContainerImmutabilityPolicy": Kind.DATA,
    "aws:ebs/volume:Volume": Kind.DATA,
    "aws:ebs/snapshot:Snapshot": Kind.DATA,
    "aws:efs/fileSystem:FileSystem": Kind.DATA,
    "aws:s3/bucket:Bucket": Kind.DATA,
    "aws:s3/bucketV2:BucketV2": Kind.DATA,
    "aws:kms/key:Key": Kind.DATA,
    "azure-native:network:LoadBalancer": Kind.BALANCER,
    "azure-native:network:VirtualNetworkGateway": Kind.VPN_GATEWAY,
    "aws:ec2/vpnGateway:VpnGateway": Kind.VPN_GATEWAY,
    "azure-native:network:NatGateway": Kind.EGRESS,
    "azure-native:network:PublicIPAddress": Kind.ADDRESS,
    "aws:ec2/natGateway:NatGateway": Kind.EGRESS,
    "aws:ec2/internetGateway:InternetGateway": Kind.EGRESS,
    "aws:ec2/eip:Eip": Kind.ADDRESS,
    "azure-native:network:VirtualNetworkGatewayConnection": Kind.TUNNEL,
    "azure-native:network:LocalNetworkGateway": Kind.TUNNEL,
    "aws:ec2/vpnConnection:VpnConnection": Kind.TUNNEL,
    "aws:ec2/customerGateway:CustomerGateway": Kind.TUNNEL,
    "azure-native:network:VirtualNetworkPeering": Kind.PEERING,
    "aws:ec2/vpcPeeringConnection:VpcPeeringConnection": Kind.PEERING,
    "aws:ec2/vpcPeeringConnectionAccepter:VpcPeeringConnectionAccepter": Kind.PEERING,
    "azure-native:network:VirtualNetwork": Kind.NETWORK,
    "azure-native:network:Subnet": Kind.NETWORK,
    "aws:ec2/vpc:Vpc": Kind.NETWORK,
    "aws:ec2/subnet:Subnet": Kind.NETWORK,
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": Kind.NETWORK,
    "aws:ec2/route:Route": Kind.ROUTE,
    "aws:ec2/routeTable:RouteTable": Kind.ROUTE,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Kind.ROUTE,
    "aws:ec2/vpnConnectionRoute:VpnConnectionRoute": Kind.ROUTE,
    "azure-native:network:NetworkSecurityGroup": Kind.RULE,
    "aws:ec2/securityGroup:SecurityGroup": Kind.RULE,
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": Kind.RULE,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": Kind.RULE,
    "azure-native:privatedns:PrivateZone": Kind.NAME,
    "azure-native:privatedns:PrivateRecordSet": Kind.NAME,
    "azure-native:privatedns:VirtualNetworkLink": Kind.NAME,
    "azure-native:authorization:RoleAssignment": Kind.RIGHT,
    "aws:iam/role:Role": Kind.RIGHT,
    "aws:iam/rolePolicy:RolePolicy": Kind.RIGHT,
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": Kind.RIGHT,
    "aws:iam/instanceProfile:InstanceProfile": Kind.RIGHT,
    "azure-native:managedidentity:UserAssignedIdentity": Kind.RIGHT,
}
"""Every type that the program makes and that matters to a verdict (``components/``), and what holds data elsewhere. A
test holds the first part against a real preview."""


def is_group(change: Change) -> bool:
    """Whether it is a component, a stack or a provider of the engine's: nothing in a cloud."""
    return not change.custom or change.type.startswith("pulumi:")


def kind_of(change: Change) -> Kind:
    """What a resource is to the cluster; groups of resources are nothing by themselves."""
    if is_group(change):
        return Kind.QUIET
    return _KINDS.get(_without_version(change.type), Kind.OTHER)


def _without_version(token: str) -> str:
    """``azure-native:network/v20240501:Subnet`` without the version of the cloud's interface."""
    if not token.startswith("azure-native:"):
        return token
    package, module, name = token.split(":")
    return f"{package}:{module.split('/', 1)[0]}:{name}"
