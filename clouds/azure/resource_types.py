"""Types of the program's resources in Azure, for the plan and for previews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clouds.azure.vpn_gateway import resize_refusal
from clouds.base.resource_types import Lasting, ResourceKind, ResourceTypes


class AzureResourceTypes(ResourceTypes):
    """Types of the program's resources in Azure."""

    def kinds(self) -> Mapping[str, ResourceKind]:
        """Return the kind of every type that the program makes and that matters to a verdict, and of further types that
        hold data."""
        return {
            "azure-native:compute:VirtualMachine": ResourceKind.MACHINE,
            "azure-native:compute:VirtualMachineScaleSet": ResourceKind.POOL,
            "azure-native:keyvault:Vault": ResourceKind.VAULT,
            "azure-native:resources:ResourceGroup": ResourceKind.GROUP,
            "azure-native:compute:Disk": ResourceKind.DATA,
            "azure-native:compute:Snapshot": ResourceKind.DATA,
            "azure-native:storage:StorageAccount": ResourceKind.DATA,
            "azure-native:storage:BlobContainer": ResourceKind.DATA,
            "azure-native:storage:BlobContainerImmutabilityPolicy": ResourceKind.DATA,
            "azure-native:network:LoadBalancer": ResourceKind.BALANCER,
            "azure-native:network:VirtualNetworkGateway": ResourceKind.VPN_GATEWAY,
            "azure-native:network:NatGateway": ResourceKind.EGRESS,
            "azure-native:network:PublicIPAddress": ResourceKind.ADDRESS,
            "azure-native:network:VirtualNetworkGatewayConnection": ResourceKind.TUNNEL,
            "azure-native:network:LocalNetworkGateway": ResourceKind.TUNNEL,
            "azure-native:network:VirtualNetworkPeering": ResourceKind.PEERING,
            "azure-native:network:VirtualNetwork": ResourceKind.NETWORK,
            "azure-native:network:Subnet": ResourceKind.NETWORK,
            "azure-native:network:NetworkSecurityGroup": ResourceKind.RULE,
            "azure-native:privatedns:PrivateZone": ResourceKind.NAME,
            "azure-native:privatedns:PrivateRecordSet": ResourceKind.NAME,
            "azure-native:privatedns:VirtualNetworkLink": ResourceKind.NAME,
            "azure-native:authorization:RoleAssignment": ResourceKind.RIGHT,
            "azure-native:managedidentity:UserAssignedIdentity": ResourceKind.RIGHT,
        }

    def ranges(self) -> Mapping[str, tuple[str, ...]]:
        """Return the paths of properties that hold ranges, by type."""
        return {
            "azure-native:network:VirtualNetwork": ("addressSpace.addressPrefixes",),
            "azure-native:network:Subnet": ("addressPrefix",),
            "azure-native:network:LocalNetworkGateway": ("localNetworkAddressSpace.addressPrefixes",),
        }

    def sealed(self) -> tuple[str, ...]:
        """Return the type of the VPN gateway's connections."""
        return ("azure-native:network:VirtualNetworkGatewayConnection",)

    def lasting(self) -> Mapping[str, Lasting]:
        """Return the types of groups, networks, names, stores and the vault."""
        store = Lasting(why="its contents, snapshots or state, are lost with it")
        return {
            "azure-native:keyvault:Vault": Lasting(why="every private key of the environment is in it"),
            "azure-native:privatedns:PrivateZone": Lasting(
                why="nodes and certificates know the API servers by its names"
            ),
            "azure-native:storage:StorageAccount": store,
            "azure-native:storage:BlobContainer": store,
            "azure-native:compute:Disk": Lasting(why="the learner's data is on it", with_learner=True),
            "azure-native:resources:ResourceGroup": Lasting(
                why="Azure deletes everything in it along with it", with_site=True
            ),
            "azure-native:network:VirtualNetwork": Lasting(
                why="everything in it would be removed first", with_site=True
            ),
        }

    def refusal(self, type_: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        """Return why Azure refuses another size of a VPN gateway."""
        if type_ != "azure-native:network:VirtualNetworkGateway":
            return ""
        return resize_refusal(_sku(before), _sku(after))

    def rules(self, type_: str, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the rules of a security group; no other type has ``securityRules``."""
        entries = inputs.get("securityRules") if type_.startswith("azure-native:") else None
        return tuple(_rule(rule) for rule in entries if isinstance(rule, Mapping)) if isinstance(entries, list) else ()


def _rule(rule: Mapping[str, Any]) -> str:
    """Return a rule as text. Source and destination are each one value or several."""
    protocol = "any" if rule.get("protocol") == "*" else str(rule.get("protocol")).lower()
    direction = {"Inbound": "in", "Outbound": "out"}.get(str(rule.get("direction")), str(rule.get("direction")))
    source, target = (_several(rule, f"{end}AddressPrefix", "es") for end in ("source", "destination"))
    ports = _several(rule, "destinationPortRange", "s")
    return (
        f"{str(rule.get('access')).lower()} {direction}, {protocol}, ports {ports}, from {source} to {target} "
        f"({rule.get('name')})"
    )


def _several(rule: Mapping[str, Any], key: str, plural: str) -> str:
    return ", ".join(map(str, [*([rule[key]] if rule.get(key) else []), *(rule.get(f"{key}{plural}") or [])])) or "any"


def _sku(gateway: Mapping[str, Any]) -> str:
    sku = gateway.get("sku")
    return str(sku.get("name", "")) if isinstance(sku, Mapping) else ""
