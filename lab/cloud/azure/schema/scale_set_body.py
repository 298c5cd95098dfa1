"""Body of a scale set: learn.microsoft.com/rest/api/compute/virtual-machine-scale-sets/create-or-update."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lab.cloud.azure.schema import virtual_machine
from lab.cloud.azure.schema.base import BodyPart, Located, Ref
from lab.cloud.azure.schema.subnet import SubnetRef

LARGEST_SET = 1000
LARGEST_PLACEMENT_GROUP = 100
"""Largest number of machines in a set, and in a set with a single placement group: learn.microsoft.com/azure/
virtual-machine-scale-sets/virtual-machine-scale-sets-placement-groups."""
MOST_ADDRESSES = 256
"""Largest number of addresses of an interface: learn.microsoft.com/azure/azure-resource-manager/management/
azure-subscription-service-limits, "Networking limits"."""


class ScaleSetSku(BodyPart):
    """Size of the machines, and their number."""

    name: str
    tier: Literal["Standard"] = "Standard"
    capacity: int = Field(ge=0, le=LARGEST_SET)


class UpgradePolicy(BodyPart):
    """Effect of a changed model on instances: none, until somebody requests it."""

    mode: Literal["Manual"]


class AddressProperties(BodyPart):
    """One address of an instance's interface; the cloud chooses it."""

    primary: bool = False
    subnet: SubnetRef
    private_ip_address_version: Literal["IPv4"] = Field(default="IPv4", alias="privateIPAddressVersion")


class AddressConfiguration(BodyPart):
    """A named address."""

    name: str
    properties: AddressProperties


class InstanceInterfaceProperties(BodyPart):
    """Settings of the instances' interface."""

    primary: Literal[True] = True
    enable_accelerated_networking: bool = False
    """Ignored by the lab."""
    enable_ip_forwarding: Literal[False] = Field(default=False, alias="enableIPForwarding")
    disable_tcp_state_tracking: Literal[False] = False
    network_security_group: Ref | None = None
    ip_configurations: list[AddressConfiguration] = Field(min_length=1, max_length=MOST_ADDRESSES)


class InterfaceConfiguration(BodyPart):
    """The instances' interface."""

    name: str
    properties: InstanceInterfaceProperties


class InstanceNetworkProfile(BodyPart):
    """Interfaces of an instance; the lab's machines have one."""

    network_interface_configurations: list[InterfaceConfiguration] = Field(min_length=1, max_length=1)


class InstanceOsDisk(BodyPart):
    """The system disk."""

    create_option: Literal["FromImage"]
    caching: Literal["None", "ReadOnly", "ReadWrite"] | None = None
    disk_size_gb: int | None = Field(default=None, alias="diskSizeGB", ge=1)
    diff_disk_settings: virtual_machine.DiffDiskSettings | None = None
    managed_disk: virtual_machine.ManagedDisk | None = None
    os_type: Literal["Linux"] | None = None
    write_accelerator_enabled: Literal[False] = False


class InstanceStorageProfile(BodyPart):
    """Image and disks."""

    image_reference: virtual_machine.ImageReference
    os_disk: InstanceOsDisk
    data_disks: list[dict[str, Any]] = Field(default_factory=list, max_length=0)
    disk_controller_type: Literal["SCSI", "NVMe"] | None = None


class InstanceOsProfile(BodyPart):
    """Settings of an instance's first boot."""

    computer_name_prefix: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,57}$")
    admin_username: str
    custom_data: str | None = None
    """Base64; write-only."""
    linux_configuration: virtual_machine.LinuxConfiguration
    allow_extension_operations: bool = True


class BillingProfile(BodyPart):
    """Highest price of a Spot machine in US dollars an hour; -1 for the ordinary price."""

    max_price: float


class TerminateNotification(BodyPart):
    """Notice before an instance is deleted: learn.microsoft.com/azure/virtual-machine-scale-sets/
    virtual-machine-scale-sets-terminate-notification, "REST API"."""

    enable: bool = False
    not_before_timeout: str = Field(default="PT5M", pattern=r"^PT([5-9]|1[0-5])M$")
    """Five to fifteen minutes (ISO 8601)."""


class ScheduledEventsProfile(BodyPart):
    """Scheduled events of instances."""

    terminate_notification_profile: TerminateNotification | None = None


class InstanceProfile(BodyPart):
    """The model of an instance."""

    priority: Literal["Regular", "Spot"] = "Regular"
    eviction_policy: Literal["Deallocate", "Delete"] | None = None
    billing_profile: BillingProfile | None = None
    os_profile: InstanceOsProfile
    storage_profile: InstanceStorageProfile
    network_profile: InstanceNetworkProfile
    security_profile: virtual_machine.SecurityProfile | None = None
    diagnostics_profile: virtual_machine.DiagnosticsProfile | None = None
    scheduled_events_profile: ScheduledEventsProfile | None = None


class ScaleSetProperties(BodyPart):
    """Properties of a scale set."""

    orchestration_mode: Literal["Uniform"]
    """The lab has no flexible sets, so a program must say which it means."""
    overprovision: Literal[False]
    """Azure's default is true; the lab makes no spare instances."""
    upgrade_policy: UpgradePolicy
    single_placement_group: bool = True
    platform_fault_domain_count: int = Field(default=5, ge=1, le=5)
    """Ignored by the lab: all machines are on one host."""
    zone_balance: Literal[False] | None = None
    do_not_run_extensions_on_overprovisioned_vms: Literal[False] = Field(
        default=False, alias="doNotRunExtensionsOnOverprovisionedVMs"
    )
    virtual_machine_profile: InstanceProfile


class ScaleSetIdentity(BodyPart):
    """The identity that all instances can act as."""

    type: Literal["SystemAssigned"]


class ScaleSet(Located):
    """A scale set."""

    sku: ScaleSetSku
    zones: list[str] | None = Field(default=None, min_length=1)
    identity: ScaleSetIdentity | None = None
    properties: ScaleSetProperties
