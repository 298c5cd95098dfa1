"""Property changes that Azure does not make in place.

``refused``: the resource manager answers with an error, but the Pulumi provider (azure-native 3.29) tries the update
nevertheless. A program that wants to replace the resource sets ``replace_on_changes``. ``replaced``: the provider
itself plans a replacement. The lab's resource manager refuses both. The lab's provider plugin replaces exactly what the
real one replaces, plus ``location`` (docs/lab-differences.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from lab.cloud.azure.errors import ArmError, change_refused
from lab.cloud.azure.schema.base import Put, normal_location
from lab.cloud.azure.schema.zones import ZONES_STAY, zones_refused

LEARN = "https://learn.microsoft.com"
FORCE_NEW = "pulumi-azure-native provider/pkg/gen/replacement.go"


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """One property that cannot change in place."""

    type: str
    """Resource type, or ``*`` for all."""
    path: str
    """Path in the body, without list indexes."""
    answer: Literal["refused", "replaced"]
    source: str
    """Source of the rule: documentation or code."""
    code: str = "PropertyChangeNotAllowed"
    """Azure's code for the refusal."""


def fixed_properties() -> tuple[Fixed, ...]:
    """Return the whole table."""
    return (*_compute(), *_network(), *_links(), *_identity_and_vault())


def _compute() -> tuple[Fixed, ...]:
    machines = f"{LEARN}/azure/virtual-machines"
    rest = f"{LEARN}/rest/api/compute/virtual-machines/create-or-update"
    profile = f"{rest} (OSProfile: some of the settings cannot be changed once VM is provisioned"
    after = "cannot be updated after the VM is created)"
    refused = {
        "properties.osProfile.customData": f"{profile}; customData {after}",
        "properties.osProfile.computerName": f"{profile}; computerName {after}",
        "properties.osProfile.adminUsername": f"{profile}; adminUsername {after}",
        "properties.osProfile.linuxConfiguration": f"{profile})",
        "properties.storageProfile.imageReference": f"{rest} (ImageReference: not used in other creation operations)",
        "properties.storageProfile.osDisk.createOption": f"{rest} (OSDisk: how the machine should be created)",
        "properties.storageProfile.osDisk.name": f"{machines}/linux/os-disk-swap (changes by a swap of whole disks)",
        "properties.storageProfile.osDisk.diffDiskSettings": f"{machines}/ephemeral-os-disks (at creation)",
        "properties.networkProfile.networkInterfaces": f"{machines}/linux/multiple-nics (only while deallocated)",
        "properties.priority": f"{machines}/spot-vms (a machine cannot be converted)",
        "properties.storageProfile.dataDisks": f"{machines}/linux/attach-disk-portal (takes it; the lab replaces)",
        "zones": f"{machines}/move-virtual-machines-regional-zonal-portal (a move makes a new machine)",
    }
    of_disks = {
        "sku": f"{machines}/disks-convert-types (only while it is detached; the lab converts none)",
        "zones": f"{machines}/disks-deploy-premium-v2 (a disk is made in its zone)",
    }
    sets = f"{LEARN}/azure/virtual-machine-scale-sets"
    modify = f"{sets}/virtual-machine-scale-sets-upgrade-scale-set"
    profile = "properties.virtualMachineProfile"
    of_sets = {
        "properties.orchestrationMode": f"{sets}/virtual-machine-scale-sets-orchestration-modes (at creation)",
        "properties.platformFaultDomainCount": f"{modify} (create-time properties: fault domains)",
        f"{profile}.storageProfile.osDisk.managedDisk": f"{modify} (create-time properties: disk storage account type)",
        f"{profile}.priority": f"{sets}/use-spot (the Spot flag is only supported at creation)",
        "zones": f"{modify} (only based on the current value; the lab changes none)",
    }
    return tuple(
        Fixed(type=f"Microsoft.Compute/{type}", path=path, answer="refused", source=source)
        for type, paths in (("virtualMachines", refused), ("virtualMachineScaleSets", of_sets), ("disks", of_disks))
        for path, source in paths.items()
    )


def _network() -> tuple[Fixed, ...]:
    address, balancer = "Microsoft.Network/publicIPAddresses", "Microsoft.Network/loadBalancers"
    gateway, link = "Microsoft.Network/natGateways", "Microsoft.Network/privateDnsZones/virtualNetworkLinks"
    nat_zones = f"{LEARN}/azure/nat-gateway/nat-availability-zones"
    zones = f"{LEARN}/azure/load-balancer/load-balancer-standard-availability-zones (zones cannot be added/updated)"
    return (
        Fixed(type="Microsoft.Network/virtualNetworks", path="location", answer="replaced", source=FORCE_NEW),
        Fixed(type=address, path="location", answer="replaced", source=FORCE_NEW),
        Fixed(type=address, path="sku", answer="replaced", source=FORCE_NEW),
        Fixed(type=address, path="properties.publicIPAddressVersion", answer="replaced", source=FORCE_NEW),
        Fixed(type=address, path="zones", answer="refused", source=zones, code=ZONES_STAY),
        Fixed(type=gateway, path="zones", answer="refused", source=nat_zones, code=ZONES_STAY),
        Fixed(type=balancer, path="sku", answer="refused", source=f"{LEARN}/azure/load-balancer/skus (not mutable)"),
        Fixed(
            type=link,
            path="properties.virtualNetwork",
            answer="refused",
            source=f"{LEARN}/azure/dns/private-dns-virtual-network-links (a link is to one network)",
        ),
    )  # fmt: skip


def _links() -> tuple[Fixed, ...]:
    settings = f"{LEARN}/azure/vpn-gateway/vpn-gateway-about-vpn-gateway-settings (a gateway is made anew for it)"
    rest = f"{LEARN}/rest/api/network-gateway/virtual-network-gateway-connections (its ends are what a connection is)"
    peering = f"{LEARN}/azure/virtual-network/virtual-network-manage-peering (a peering is with one network)"
    refused = (
        ("virtualNetworkGateways", "gatewayType", settings),
        ("virtualNetworkGateways", "vpnType", settings),
        ("connections", "connectionType", rest),
        ("connections", "virtualNetworkGateway1.id", rest),
        ("connections", "localNetworkGateway2.id", rest),
        ("virtualNetworks/virtualNetworkPeerings", "remoteVirtualNetwork.id", peering),
    )
    return tuple(
        Fixed(type=f"Microsoft.Network/{type}", path=f"properties.{path}", answer="refused", source=source)
        for type, path, source in refused
    )


def _identity_and_vault() -> tuple[Fixed, ...]:
    roles, vault = "Microsoft.Authorization/roleAssignments", "Microsoft.KeyVault/vaults"
    troubleshooting = f"{LEARN}/azure/role-based-access-control/troubleshooting (RoleAssignmentUpdateNotPermitted)"
    return (
        Fixed(type="Microsoft.Resources/resourceGroups", path="location", answer="replaced", source=FORCE_NEW),
        Fixed(
            type="*",
            path="location",
            answer="replaced",
            source=f"{LEARN}/azure/azure-resource-manager/management/move-support-resources (a region is for life)",
        ),
        Fixed(type=roles, path="properties.principalId", answer="replaced", source=f"{FORCE_NEW}; {troubleshooting}"),
        Fixed(type=roles, path="properties.roleDefinitionId", answer="refused", source=troubleshooting),
        Fixed(
            type=vault,
            path="properties.enablePurgeProtection",
            answer="refused",
            source=f"{LEARN}/azure/key-vault/general/soft-delete-overview (purge protection cannot be disabled)",
        ),
        Fixed(
            type=vault,
            path="properties.softDeleteRetentionInDays",
            answer="refused",
            source=f"{LEARN}/azure/key-vault/general/soft-delete-overview (can only be configured during creation)",
        ),
    )  # fmt: skip


def check_unchanged(put: Put, type: str) -> None:
    """Refuse changes of properties that cannot change in place.

    Raises:
        ArmError: 409 (400 for role assignments), with the code that Azure uses.
    """
    if put.old is None:
        return
    for fixed in fixed_properties():
        if fixed.type not in ("*", type):
            continue
        before, after = _value(put.old.body, put.old.hidden, fixed.path), _value(put.body, put.hidden, fixed.path)
        if fixed.path == "location":
            before, after = normal_location(str(before or "")), normal_location(str(after or ""))
        if before == after or _added_later(fixed.path, before):
            continue
        if fixed.code == ZONES_STAY:
            raise zones_refused(put.id.text, before, after)
        raise _refusal(put, type, fixed.path)


def _added_later(path: str, before: Any) -> bool:
    """Return whether the change sets purge protection where it was unset, which is allowed."""
    return before is None and path == "properties.enablePurgeProtection"


def _value(body: dict[str, Any], hidden: dict[str, Any], path: str) -> Any:
    if path == "properties.osProfile.customData":
        return hidden.get("customData")
    value: Any = body
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _refusal(put: Put, type: str, path: str) -> ArmError:
    if type == "Microsoft.Authorization/roleAssignments":
        return ArmError(
            400,
            "RoleAssignmentUpdateNotPermitted",
            "Tenant ID, application ID, principal ID, and scope are not allowed to be updated.",
        )
    if path == "location":
        group = type == "Microsoft.Resources/resourceGroups"
        return ArmError(
            409,
            "InvalidResourceGroupLocation" if group else "InvalidResourceLocation",
            f"The resource '{put.id.name}' already exists in location "
            f"'{put.old.body.get('location') if put.old else ''}' in resource "
            f"group '{put.id.group}'. A resource with the same name cannot be created in location "
            f"'{put.body.get('location')}'. Please select a new resource name.",
        )
    return change_refused(path.removeprefix("properties."))
