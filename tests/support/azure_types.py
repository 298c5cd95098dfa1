"""Azure's own types of the resources that the program makes, as permissions name them."""

from __future__ import annotations

AZURE_TYPES = {
    "authorization.RoleAssignment": "Microsoft.Authorization/roleAssignments",
    "compute.Disk": "Microsoft.Compute/disks",
    "compute.VirtualMachine": "Microsoft.Compute/virtualMachines",
    "compute.VirtualMachineScaleSet": "Microsoft.Compute/virtualMachineScaleSets",
    "keyvault.Vault": "Microsoft.KeyVault/vaults",
    "managedidentity.UserAssignedIdentity": "Microsoft.ManagedIdentity/userAssignedIdentities",
    "network.LoadBalancer": "Microsoft.Network/loadBalancers",
    "network.LocalNetworkGateway": "Microsoft.Network/localNetworkGateways",
    "network.NatGateway": "Microsoft.Network/natGateways",
    "network.NetworkInterface": "Microsoft.Network/networkInterfaces",
    "network.NetworkSecurityGroup": "Microsoft.Network/networkSecurityGroups",
    "network.PublicIPAddress": "Microsoft.Network/publicIPAddresses",
    "network.Subnet": "Microsoft.Network/virtualNetworks/subnets",
    "network.VirtualNetwork": "Microsoft.Network/virtualNetworks",
    "network.VirtualNetworkGateway": "Microsoft.Network/virtualNetworkGateways",
    "network.VirtualNetworkGatewayConnection": "Microsoft.Network/connections",
    "network.VirtualNetworkPeering": "Microsoft.Network/virtualNetworks/virtualNetworkPeerings",
    "privatedns.PrivateRecordSet": "Microsoft.Network/privateDnsZones/A",
    "privatedns.PrivateZone": "Microsoft.Network/privateDnsZones",
    "privatedns.VirtualNetworkLink": "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
    "resources.ResourceGroup": "Microsoft.Resources/subscriptions/resourceGroups",
    "storage.BlobContainer": "Microsoft.Storage/storageAccounts/blobServices/containers",
    "storage.ManagementPolicy": "Microsoft.Storage/storageAccounts/managementPolicies",
    "storage.StorageAccount": "Microsoft.Storage/storageAccounts",
}
"""Types in the resource manager, by the program's resource."""
