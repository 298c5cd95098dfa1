"""Tokens of azure-native's resources, and the place of each in the resource manager's API.

Names of inputs are those of pulumi_azure_native 3.29.0; API versions are those that its documentation gives for each
resource.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

GROUP = "/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}"
STORAGE_ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/{{accountName}}"


@dataclass(frozen=True, kw_only=True)
class Token:
    """One resource type of the SDK."""

    token: str
    type: str
    """Type in the resource manager."""
    path: str
    """Id, with the names of inputs in braces."""
    api_version: str
    name: str
    """Input that names the resource."""
    flat: bool = True
    """True when the SDK shows the API's ``properties`` at the top level."""
    located: bool = True
    """True when the resource has a location, which defaults to the provider's."""
    guid: bool = False
    """True when the name defaults to a GUID."""
    inner: frozenset[str] = frozenset()
    """Inputs that the API has inside ``properties``, although other types have them beside ``properties``."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The API's names of properties, at any depth, that have other names in the SDK (``x-ms-client-name`` in the API's
    specification)."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the inputs that are part of the id. A change of such an input forces a replacement."""
        variables = re.findall(r"\{(\w+)\}", self.path)
        return tuple(name for name in variables if name != "subscriptionId")

    def id(self, inputs: dict[str, object], *, subscription: str) -> str:
        """Return the resource's id for these inputs."""
        values = {name: str(inputs[name]).strip("/") for name in self.parameters}
        return self.path.format(subscriptionId=subscription, **values)

    def names(self, resource_id: str) -> dict[str, str]:
        """Return the inputs that an id holds; empty when the id is of another type."""
        pattern = re.escape(self.path)
        for name in ("subscriptionId", *self.parameters):
            inner = r"(?P<scope>.+)" if name == "scope" else rf"(?P<{name}>[^/]+)"
            pattern = pattern.replace(re.escape("{" + name + "}"), inner)
        match = re.fullmatch(pattern, resource_id, re.IGNORECASE)
        groups = match.groupdict() if match else {}
        groups.pop("subscriptionId", None)
        return groups


def _network(token: str, type: str, name: str, parameter: str, *, inner: frozenset[str] = frozenset()) -> Token:
    return Token(
        token=f"azure-native:network:{token}",
        type=f"Microsoft.Network/{type}",
        path=f"{GROUP}/providers/Microsoft.Network/{type}/{{{parameter}}}",
        api_version="2024-05-01",
        name=name,
        inner=inner,
    )


def _network_part(token: str, part: str, name: str) -> Token:
    return Token(
        token=f"azure-native:network:{token}",
        type=f"Microsoft.Network/virtualNetworks/{part}",
        path=f"{GROUP}/providers/Microsoft.Network/virtualNetworks/{{virtualNetworkName}}/{part}/{{{name}}}",
        api_version="2024-05-01",
        name=name,
        located=False,
    )


def _zone_part(token: str, type: str, tail: str, name: str, *, located: bool) -> Token:
    return Token(
        token=f"azure-native:privatedns:{token}",
        type=f"Microsoft.Network/privateDnsZones{type}",
        path=f"{GROUP}/providers/Microsoft.Network/privateDnsZones/{{privateZoneName}}{tail}",
        api_version="2024-06-01",
        name=name,
        located=located,
    )


def known_tokens() -> dict[str, Token]:
    """Return every resource that the lab's Azure can make, by its token."""
    network = [
        _network("VirtualNetwork", "virtualNetworks", "virtualNetworkName", "virtualNetworkName"),
        _network(
            "NetworkSecurityGroup", "networkSecurityGroups", "networkSecurityGroupName", "networkSecurityGroupName"
        ),
        _network("PublicIPAddress", "publicIPAddresses", "publicIpAddressName", "publicIpAddressName"),
        _network("NatGateway", "natGateways", "natGatewayName", "natGatewayName"),
        _network("LoadBalancer", "loadBalancers", "loadBalancerName", "loadBalancerName"),
        _network("NetworkInterface", "networkInterfaces", "networkInterfaceName", "networkInterfaceName"),
        _network(
            "VirtualNetworkGateway",
            "virtualNetworkGateways",
            "virtualNetworkGatewayName",
            "virtualNetworkGatewayName",
            inner=frozenset({"sku"}),
        ),
        _network("LocalNetworkGateway", "localNetworkGateways", "localNetworkGatewayName", "localNetworkGatewayName"),
        _network(
            "VirtualNetworkGatewayConnection",
            "connections",
            "virtualNetworkGatewayConnectionName",
            "virtualNetworkGatewayConnectionName",
        ),
    ]
    others = [
        _network_part("Subnet", "subnets", "subnetName"),
        _network_part("VirtualNetworkPeering", "virtualNetworkPeerings", "virtualNetworkPeeringName"),
        _zone_part("PrivateZone", "", "", "privateZoneName", located=False),
        _zone_part(
            "VirtualNetworkLink",
            "/virtualNetworkLinks",
            "/virtualNetworkLinks/{virtualNetworkLinkName}",
            "virtualNetworkLinkName",
            located=False,
        ),
        _zone_part(
            "PrivateRecordSet", "/A", "/{recordType}/{relativeRecordSetName}", "relativeRecordSetName", located=False
        ),
        Token(
            token="azure-native:compute:Disk",  # noqa: S106
            type="Microsoft.Compute/disks",
            path=f"{GROUP}/providers/Microsoft.Compute/disks/{{diskName}}",
            api_version="2024-03-02",
            name="diskName",
        ),
        Token(
            token="azure-native:compute:VirtualMachine",  # noqa: S106
            type="Microsoft.Compute/virtualMachines",
            path=f"{GROUP}/providers/Microsoft.Compute/virtualMachines/{{vmName}}",
            api_version="2024-11-01",
            name="vmName",
        ),
        Token(
            token="azure-native:compute:VirtualMachineScaleSet",  # noqa: S106
            type="Microsoft.Compute/virtualMachineScaleSets",
            path=f"{GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets/{{vmScaleSetName}}",
            api_version="2024-11-01",
            name="vmScaleSetName",
        ),
        Token(
            token="azure-native:managedidentity:UserAssignedIdentity",  # noqa: S106
            type="Microsoft.ManagedIdentity/userAssignedIdentities",
            path=f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{{resourceName}}",
            api_version="2023-01-31",
            name="resourceName",
        ),
        Token(
            token="azure-native:keyvault:Vault",  # noqa: S106
            type="Microsoft.KeyVault/vaults",
            path=f"{GROUP}/providers/Microsoft.KeyVault/vaults/{{vaultName}}",
            api_version="2024-11-01",
            name="vaultName",
            flat=False,
        ),
        Token(
            token="azure-native:storage:StorageAccount",  # noqa: S106
            type="Microsoft.Storage/storageAccounts",
            path=STORAGE_ACCOUNT,
            api_version="2024-01-01",
            name="accountName",
            renamed={
                "networkRuleSet": "networkAcls",
                "iPAddressOrRange": "value",
                "virtualNetworkResourceId": "id",
                "enableHttpsTrafficOnly": "supportsHttpsTrafficOnly",
            },
        ),
        Token(
            token="azure-native:storage:BlobContainer",  # noqa: S106
            type="Microsoft.Storage/storageAccounts/blobServices/containers",
            path=f"{STORAGE_ACCOUNT}/blobServices/default/containers/{{containerName}}",
            api_version="2024-01-01",
            name="containerName",
            located=False,
        ),
        Token(
            token="azure-native:storage:ManagementPolicy",  # noqa: S106
            type="Microsoft.Storage/storageAccounts/managementPolicies",
            path=f"{STORAGE_ACCOUNT}/managementPolicies/{{managementPolicyName}}",
            api_version="2024-01-01",
            name="managementPolicyName",
            located=False,
        ),
        Token(
            token="azure-native:authorization:RoleAssignment",  # noqa: S106
            type="Microsoft.Authorization/roleAssignments",
            path="/{scope}/providers/Microsoft.Authorization/roleAssignments/{roleAssignmentName}",
            api_version="2022-04-01",
            name="roleAssignmentName",
            located=False,
            guid=True,
        ),
        Token(
            token="azure-native:resources:ResourceGroup",  # noqa: S106
            type="Microsoft.Resources/resourceGroups",
            path=GROUP,
            api_version="2024-03-01",
            name="resourceGroupName",
            flat=False,
        ),
    ]
    return {token.token: token for token in (*network, *others)}
