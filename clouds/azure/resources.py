"""Types of the program's resources in Azure, to whoever judges a change."""

from __future__ import annotations

from collections.abc import Mapping

from clouds.base.kinds import Kind


def kinds() -> Mapping[str, Kind]:
    """Every type that the program makes and that matters to a verdict, and what holds data besides."""
    return {
        "azure-native:compute:VirtualMachine": Kind.MACHINE,
        "azure-native:compute:VirtualMachineScaleSet": Kind.POOL,
        "azure-native:keyvault:Vault": Kind.VAULT,
        "azure-native:resources:ResourceGroup": Kind.GROUP,
        "azure-native:compute:Disk": Kind.DATA,
        "azure-native:compute:Snapshot": Kind.DATA,
        "azure-native:storage:StorageAccount": Kind.DATA,
        "azure-native:storage:BlobContainer": Kind.DATA,
        "azure-native:storage:BlobContainerImmutabilityPolicy": Kind.DATA,
        "azure-native:network:LoadBalancer": Kind.BALANCER,
        "azure-native:network:VirtualNetworkGateway": Kind.VPN_GATEWAY,
        "azure-native:network:NatGateway": Kind.EGRESS,
        "azure-native:network:PublicIPAddress": Kind.ADDRESS,
        "azure-native:network:VirtualNetworkGatewayConnection": Kind.TUNNEL,
        "azure-native:network:LocalNetworkGateway": Kind.TUNNEL,
        "azure-native:network:VirtualNetworkPeering": Kind.PEERING,
        "azure-native:network:VirtualNetwork": Kind.NETWORK,
        "azure-native:network:Subnet": Kind.NETWORK,
        "azure-native:network:NetworkSecurityGroup": Kind.RULE,
        "azure-native:privatedns:PrivateZone": Kind.NAME,
        "azure-native:privatedns:PrivateRecordSet": Kind.NAME,
        "azure-native:privatedns:VirtualNetworkLink": Kind.NAME,
        "azure-native:authorization:RoleAssignment": Kind.RIGHT,
        "azure-native:managedidentity:UserAssignedIdentity": Kind.RIGHT,
    }


def ranges() -> Mapping[str, tuple[str, ...]]:
    """Where ranges are."""
    return {
        "azure-native:network:VirtualNetwork": ("addressSpace.addressPrefixes",),
        "azure-native:network:Subnet": ("addressPrefix",),
        "azure-native:network:LocalNetworkGateway": ("localNetworkAddressSpace.addressPrefixes",),
    }
