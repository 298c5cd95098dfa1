"""Node pools on Azure: scale sets."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, ResourceHookArgs, ResourceOptions
from pulumi_azure_native import compute

from clouds.azure.errors import AzureError
from clouds.azure.groups import has_infiniband
from clouds.azure.images import SECURITY_TYPE
from clouds.azure.live_groups import live_groups
from clouds.base.checks import zones_of
from clouds.base.groups import PoolGroup
from clouds.base.pool_section import Pool
from components.azure.account import ADMINISTRATOR, IDENTITY, azure_site
from components.guards.pool_size import never_lower
from components.model import Environment
from components.model.nodes.kubelet_reservations import POD_ADDRESSES
from components.model.sites.cloud_names import pool_groups
from components.model.sites.places import place_of
from contract.tag_keys import POOL


@dataclass(frozen=True, kw_only=True)
class AzurePoolArgs:
    """Arguments of a pool."""

    environment: Environment
    pool_name: str
    """Name of a pool of the environment, on an Azure site."""
    resource_group: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    """The subnet of nodes and of their pods: all addresses of an interface are in one subnet."""
    security_group_id: pulumi.Input[str] | None = None
    """Security group of the machines' interfaces if the subnet existed already, because such a subnet keeps its own
    rules; else None."""
    custom_data: Mapping[str, pulumi.Input[str]]
    """Input of cloud-init as plain text, within Azure's limit, for each of the pool's scale sets
    (:func:`components.model.sites.cloud_names.pool_groups`)."""
    tags: Mapping[str, str]


class AzurePool(ComponentResource):
    """One scale set in uniform orchestration, or several for a pool larger than a scale set can be. Once a scale set
    exists, the autoscaler decides how many machines it has.

    Azure recommends flexible orchestration for new sets. It is not used, because it offers no InfiniBand, which
    training on more than one machine needs. Also, with uniform orchestration one call lists every machine of a set, and
    another lists every address; the check of joining nodes needs that for a set of a thousand machines.
    """

    scale_set_ids: tuple[Output[str], ...]
    scale_set_names: tuple[Output[str], ...]
    """Names of the scale sets that the autoscaler sizes: the first is filled before the next."""

    def __init__(self, name: str, args: AzurePoolArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:Pool", name, None, opts)
        self._name, self._args = name, args
        self._pool = args.environment.pools[args.pool_name]
        self._site = azure_site(args.environment, self._pool.site)
        self._place = place_of(args.environment, self._pool.site)
        self._tags = {**args.tags, POOL: args.pool_name}
        sets = [self._scale_set(group) for group in pool_groups(args.environment, args.pool_name)]
        self.scale_set_ids = tuple(set_.id for set_ in sets)
        self.scale_set_names = tuple(set_.name for set_ in sets)
        self.register_outputs({"scale_set_ids": list(self.scale_set_ids)})

    def _scale_set(self, group: PoolGroup) -> compute.VirtualMachineScaleSet:
        one_group = has_infiniband(self._pool.machine_type)
        # A placement group is in one place; Azure chooses which.
        zones = [] if one_group else list(zones_of(self._place, self._pool))
        return compute.VirtualMachineScaleSet(
            f"{group.resource}-set",
            vm_scale_set_name=group.name,
            resource_group_name=self._args.resource_group,
            location=self._site.region,
            zones=zones or None,
            zone_balance=False if zones else None,
            orchestration_mode="Uniform",
            single_placement_group=one_group,
            platform_fault_domain_count=1,
            # Spare machines, which Azure makes and deletes again, would join the cluster in between.
            overprovision=False,
            sku=compute.SkuArgs(name=self._pool.machine_type, tier="Standard", capacity=group.min),
            # A new image or user data applies to new machines: running ones may be in the middle of a job.
            upgrade_policy=compute.UpgradePolicyArgs(mode=compute.UpgradeMode.MANUAL),
            # A node proves with this identity who it is; the identity has no permissions.
            identity=compute.VirtualMachineScaleSetIdentityArgs(type=compute.ResourceIdentityType.SYSTEM_ASSIGNED),
            virtual_machine_profile=self._profile(group),
            tags=self._tags,
            # Every update sets the capacity, even an update of a tag (REST reference, "Create Or Update").
            opts=ResourceOptions(
                parent=self,
                ignore_changes=["sku.capacity", *IDENTITY],
                hooks=never_lower(
                    f"{group.resource}-set", group=group.name, live=lambda: self._size(group.name), sent=_capacity
                ),
            ),
        )

    def _size(self, group: str) -> int | None:
        """Return the live capacity of a scale set; None when there is no such set."""
        place = place_of(self._args.environment, self._pool.site)
        try:
            return live_groups(place, self._args.pool_name)[group].size()
        except AzureError as error:
            if error.absent:
                return None
            raise

    def _profile(self, group: PoolGroup) -> compute.VirtualMachineScaleSetVMProfileArgs:
        spot = self._pool.spot
        return compute.VirtualMachineScaleSetVMProfileArgs(
            priority="Spot" if spot else "Regular",
            eviction_policy="Delete" if spot else None,
            # -1: up to the ordinary price, so that machines are evicted only when capacity is short.
            billing_profile=compute.BillingProfileArgs(max_price=-1) if spot else None,
            capacity_reservation=_reservation(self._pool),
            os_profile=self._os_profile(group),
            storage_profile=compute.VirtualMachineScaleSetStorageProfileArgs(
                image_reference=compute.ImageReferenceArgs(id=self._site.image),
                os_disk=compute.VirtualMachineScaleSetOSDiskArgs(
                    create_option="FromImage",
                    caching=compute.CachingTypes.READ_ONLY,
                    disk_size_gb=self._pool.system_disk_gib,
                    managed_disk=compute.VirtualMachineScaleSetManagedDiskParametersArgs(
                        storage_account_type="Premium_LRS"
                    ),
                ),
            ),
            network_profile=compute.VirtualMachineScaleSetNetworkProfileArgs(
                network_interface_configurations=[self._interface()]
            ),
            security_profile=compute.SecurityProfileArgs(encryption_at_host=True, security_type=SECURITY_TYPE),
            scheduled_events_profile=_deletion_notice(self._pool),
        )

    def _interface(self) -> compute.VirtualMachineScaleSetNetworkConfigurationArgs:
        rules = self._args.security_group_id
        return compute.VirtualMachineScaleSetNetworkConfigurationArgs(
            name="primary",
            primary=True,
            enable_accelerated_networking=True,
            enable_ip_forwarding=False,
            network_security_group=compute.SubResourceArgs(id=rules) if rules else None,
            ip_configurations=ip_configurations(self._args.subnet_id),
        )

    def _os_profile(self, group: PoolGroup) -> compute.VirtualMachineScaleSetOSProfileArgs:
        key = compute.SshPublicKeyArgs(
            key_data=self._args.environment.access.administrator_key,
            path=f"/home/{ADMINISTRATOR}/.ssh/authorized_keys",
        )
        return compute.VirtualMachineScaleSetOSProfileArgs(
            computer_name_prefix=f"{group.name}-",
            admin_username=ADMINISTRATOR,
            custom_data=Output.from_input(self._args.custom_data[group.name]).apply(_encode),
            linux_configuration=compute.LinuxConfigurationArgs(
                disable_password_authentication=True,
                provision_vm_agent=True,
                ssh=compute.SshConfigurationArgs(public_keys=[key]),
            ),
        )


def _reservation(pool: Pool) -> compute.CapacityReservationProfileArgs | None:
    if pool.reservation is None:
        return None
    group = compute.SubResourceArgs(id=pool.reservation.id)
    return compute.CapacityReservationProfileArgs(capacity_reservation_group=group)


def _deletion_notice(pool: Pool) -> compute.ScheduledEventsProfileArgs | None:
    if pool.deletion_notice_min is None:
        return None
    notice = compute.TerminateNotificationProfileArgs(enable=True, not_before_timeout=f"PT{pool.deletion_notice_min}M")
    return compute.ScheduledEventsProfileArgs(terminate_notification_profile=notice)


def _capacity(update: ResourceHookArgs) -> int | None:
    capacity = ((update.new_inputs or {}).get("sku") or {}).get("capacity")
    return None if capacity is None else int(capacity)


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def ip_configurations(subnet_id: pulumi.Input[str]) -> Sequence[compute.VirtualMachineScaleSetIPConfigurationArgs]:
    """Return the configuration of the node's address, then one for each pod's address: Azure assigns no range to a
    scale set's interface, only single addresses."""
    names = ["primary", *(f"pod-{index:02}" for index in range(POD_ADDRESSES))]
    return [
        compute.VirtualMachineScaleSetIPConfigurationArgs(
            name=name, primary=index == 0, subnet=compute.ApiEntityReferenceArgs(id=subnet_id)
        )
        for index, name in enumerate(names)
    ]
