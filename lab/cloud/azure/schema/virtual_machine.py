"""Microsoft.Compute/virtualMachines."""

from __future__ import annotations

import base64
import binascii
import uuid
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from contract.azure import MACHINES
from lab.cloud.azure.errors import ArmError, invalid_reference, unsupported
from lab.cloud.azure.schema import network_interface, user_assigned_identity
from lab.cloud.azure.schema.base import BodyPart, Located, Put, SubscriptionSettings, TypeSpec
from lab.cloud.azure.schema.data_disk import check_attached
from lab.cloud.azure.schema.disks import check_disk
from lab.cloud.azure.schema.ssh_keys import check_keys
from lab.cloud.azure.sizes import known_sizes
from lab.cloud.store import DocumentStore, ResourceDocument

TYPE = MACHINES
CUSTOM_DATA_LIMIT = 65535
"""Limit of custom data in bytes, after base64 decoding:
learn.microsoft.com/rest/api/compute/virtual-machines/create-or-update, OSProfile."""


class HardwareProfile(BodyPart):
    """Size of a machine."""

    vm_size: str


class ImageReference(BodyPart):
    """An image in a gallery."""

    id: str


class ManagedDisk(BodyPart):
    """Kind of a disk; it makes no difference in the lab."""

    storage_account_type: Literal["Standard_LRS", "StandardSSD_LRS", "Premium_LRS", "StandardSSD_ZRS", "Premium_ZRS"]


class DiffDiskSettings(BodyPart):
    """An ephemeral system disk."""

    option: Literal["Local"]
    placement: Literal["CacheDisk", "ResourceDisk", "NvmeDisk"] | None = None


class MachineOsDisk(BodyPart):
    """The system disk."""

    name: str | None = None
    create_option: Literal["FromImage"]
    caching: Literal["None", "ReadOnly", "ReadWrite"] | None = None
    delete_option: Literal["Delete"] = "Delete"
    """Azure also accepts ``Detach``; the lab deletes the system disk with its machine."""
    disk_size_gb: int | None = Field(default=None, alias="diskSizeGB", ge=1)
    diff_disk_settings: DiffDiskSettings | None = None
    managed_disk: ManagedDisk | None = None
    os_type: Literal["Linux"] | None = None
    write_accelerator_enabled: Literal[False] = False


class ManagedDataDisk(BodyPart):
    """A disk that exists by itself."""

    id: str
    storage_account_type: Literal["PremiumV2_LRS"] | None = None


class DataDisk(BodyPart):
    """A network disk as it is attached."""

    lun: Literal[0]
    """Logical unit number of the disk; the lab's machines find the disk mounted."""
    name: str | None = None
    create_option: Literal["Attach"]
    """Azure also makes disks along with the machine."""
    delete_option: Literal["Detach"] = "Detach"
    """Azure also deletes the disk with its machine."""
    caching: Literal["None"]
    """A Premium SSD v2 has no host cache; Azure's default for premium disks would be one."""
    managed_disk: ManagedDataDisk


class MachineStorageProfile(BodyPart):
    """Image and disks."""

    image_reference: ImageReference
    os_disk: MachineOsDisk
    data_disks: list[DataDisk] = Field(default_factory=list, max_length=1)
    """Network disks. A machine of the lab has room for one, beside the local disks of its size."""
    disk_controller_type: Literal["SCSI", "NVMe"] | None = None


class SshKey(BodyPart):
    """A public key."""

    path: str
    key_data: str


class Ssh(BodyPart):
    """Keys of the administrator."""

    public_keys: list[SshKey] = Field(default_factory=list)


class PatchSettings(BodyPart):
    """Settings of patching, which is left to the image."""

    patch_mode: Literal["ImageDefault"] = "ImageDefault"
    assessment_mode: Literal["ImageDefault"] = "ImageDefault"


class LinuxConfiguration(BodyPart):
    """Settings of Linux."""

    disable_password_authentication: Literal[True]
    ssh: Ssh | None = None
    provision_vm_agent: Literal[True] = Field(default=True, alias="provisionVMAgent")
    enable_vm_agent_platform_updates: bool | None = Field(default=None, alias="enableVMAgentPlatformUpdates")
    patch_settings: PatchSettings | None = None


class MachineOsProfile(BodyPart):
    """Settings of the machine's first boot."""

    computer_name: str = Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?$")
    admin_username: str
    custom_data: str | None = None
    """Base64; write-only."""
    linux_configuration: LinuxConfiguration
    allow_extension_operations: bool = True


class AttachedInterfaceProperties(BodyPart):
    """Settings of the interface's attachment to the machine."""

    primary: Literal[True] = True
    delete_option: Literal["Detach"] | None = None
    """The lab does not support ``Delete``."""


class InterfaceRef(BodyPart):
    """A network interface."""

    id: str
    properties: AttachedInterfaceProperties | None = None


class MachineNetworkProfile(BodyPart):
    """Interfaces of a machine; the lab's machines have one."""

    network_interfaces: list[InterfaceRef] = Field(min_length=1, max_length=1)


class UefiSettings(BodyPart):
    """Settings of UEFI; they make no difference in the lab."""

    secure_boot_enabled: bool = False
    v_tpm_enabled: bool = Field(default=False, alias="vTpmEnabled")


class SecurityProfile(BodyPart):
    """Settings of security. They are completed as in Azure, and make no difference in the lab."""

    encryption_at_host: bool | None = None
    security_type: Literal["TrustedLaunch", "Standard"] | None = None
    uefi_settings: UefiSettings | None = None


class BootDiagnostics(BodyPart):
    """Log of the console; the lab always keeps it."""

    enabled: bool


class DiagnosticsProfile(BodyPart):
    """Diagnostics."""

    boot_diagnostics: BootDiagnostics


class VirtualMachineProperties(BodyPart):
    """Properties of a machine."""

    hardware_profile: HardwareProfile
    storage_profile: MachineStorageProfile
    os_profile: MachineOsProfile
    network_profile: MachineNetworkProfile
    security_profile: SecurityProfile | None = None
    diagnostics_profile: DiagnosticsProfile | None = None
    priority: Literal["Regular"] | None = None


class VirtualMachineIdentity(BodyPart):
    """The identities that the machine can act as."""

    type: Literal["SystemAssigned", "UserAssigned", "SystemAssigned, UserAssigned"]
    user_assigned_identities: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _as_its_type(self) -> Self:
        if ("UserAssigned" in self.type) != bool(self.user_assigned_identities):
            raise ValueError(f"type {self.type} and {len(self.user_assigned_identities)} user-assigned identities")
        return self


class VirtualMachine(Located):
    """A virtual machine."""

    zones: list[str] | None = Field(default=None, max_length=1)
    identity: VirtualMachineIdentity | None = None
    properties: VirtualMachineProperties


def check(put: Put) -> None:
    """Refuse a size, image, interface or identity that does not exist, keys that Azure does not accept, and custom data
    that is too large. Move write-only properties to ``hidden``."""
    properties = put.body["properties"]
    check_disk(put, properties["storageProfile"]["osDisk"])
    check_attached(put, properties["storageProfile"]["dataDisks"])
    check_keys(properties["osProfile"]["linuxConfiguration"].get("ssh", {}).get("publicKeys", ()))
    _check_size(put, properties)
    complete_security(properties, put.old.body["properties"] if put.old else None)
    put.hidden = dict(put.old.hidden) if put.old else {"vmId": str(uuid.uuid4()), "power": "running"}
    custom_data = properties["osProfile"].pop("customData", None)
    if custom_data is not None:
        put.hidden["customData"] = decodable(custom_data)
    check_image(put.settings, properties["storageProfile"]["imageReference"]["id"])
    interface = put.find(properties["networkProfile"]["networkInterfaces"][0]["id"], type=network_interface.TYPE)
    put.same_region(interface)
    holder = network_interface.machine_of(put.store, interface.id)
    if holder and holder.key != put.id.text.lower():
        raise ArmError(
            400,
            "NicInUse",
            f"Network Interface {interface.id} is used by existing resource {holder.id}. In order to use it in "
            f"{put.id.text}, it "
            "must be dissociated from the resource.",
        )
    for identity in put.body.get("identity", {}).get("userAssignedIdentities", {}):
        if put.store.get(identity) is None:
            raise invalid_reference(identity, by=put.id.text)
        put.find(identity, type=user_assigned_identity.TYPE)
    _give_principal(put)


def _give_principal(put: Put) -> None:
    """Make the principal of a system-assigned identity, and keep it for as long as the machine has the identity."""
    identity = put.body.get("identity", {})
    if "SystemAssigned" in identity.get("type", ""):
        old = put.old.body.get("identity", {}) if put.old else {}
        identity["principalId"] = old.get("principalId") or str(uuid.uuid4())
        identity["tenantId"] = put.settings.tenant


def complete_security(properties: dict[str, Any], old: dict[str, Any] | None) -> None:
    """Complete a model without a security type as Azure does since the API version 2025-11-01: the new machine has
    Trusted Launch with Secure Boot (azure-compute-docs ``trusted-launch.md``, "Trusted Launch as default"; the lab does
    so for every version). ``old``: the properties before, whose type stays."""
    security = properties.setdefault("securityProfile", {})
    if "securityType" in security:
        return
    if old is not None:
        before = old.get("securityProfile", {})
        security.update({key: before[key] for key in ("securityType", "uefiSettings") if key in before})
        return
    security["securityType"] = "TrustedLaunch"
    security.setdefault("uefiSettings", {"secureBootEnabled": True, "vTpmEnabled": True})


def check_image(settings: SubscriptionSettings, image: str) -> None:
    """Refuse an image that no gallery has."""
    if image.lower() not in {known.lower() for known in settings.images}:
        known = ", ".join(sorted(settings.images)) or "none"
        raise ArmError(
            404, "GalleryImageNotFound", f"The gallery image {image} is not available in the lab, which has: {known}."
        )


def _check_size(put: Put, properties: dict[str, Any]) -> None:
    wanted = properties["hardwareProfile"]["vmSize"]
    check_size(wanted, properties["storageProfile"]["osDisk"])
    if put.old and put.old.body["properties"]["hardwareProfile"]["vmSize"] != wanted:
        raise unsupported(f"{put.id.name}: the lab does not resize a machine; Azure restarts it. Replace the machine.")


def check_size(wanted: str, disk: dict[str, Any]) -> None:
    """Refuse a size that does not exist, or that cannot hold the system disk."""
    sizes = known_sizes()
    if wanted not in sizes:
        raise ArmError(
            400,
            "InvalidParameter",
            f"The value {wanted} provided for the VM size is not valid. The valid sizes in the lab are: "
            f"{','.join(sorted(sizes))}.",
            target="vmSize",
        )
    size = sizes[wanted]
    if disk.get("diffDiskSettings") and not (size.temp_gib or size.local_ssd_gib):
        raise ArmError(
            400,
            "OperationNotAllowed",
            f"The VM size {wanted} has no local storage for an ephemeral OS disk.",
            target="vmSize",
        )


def decodable(text: str) -> str:
    """Return custom data unchanged; refuse it when it is not base64, or is too large."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as problem:
        raise ArmError(
            400, "InvalidParameter", "Custom data in OSProfile must be in Base64 encoding.", target="customData"
        ) from problem
    if len(decoded) > CUSTOM_DATA_LIMIT:
        raise ArmError(
            400,
            "InvalidParameter",
            "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters: it "
            "has "
            f"{len(text)}.",
            target="customData",
        )
    return text


def view(_store: DocumentStore, document: ResourceDocument) -> dict[str, Any]:
    """Return the machine's id and its provisioning state."""
    return {"vmId": document.hidden["vmId"], "provisioningState": document.hidden.get("state", "Succeeded")}


SPEC = TypeSpec(
    type=TYPE,
    model=VirtualMachine,
    check=check,
    view=view,
    read_only=frozenset(
        {"vmId", "instanceView", "timeCreated", "requireGuestProvisionSignal", "principalId", "clientId", "tenantId"}
    ),
)
