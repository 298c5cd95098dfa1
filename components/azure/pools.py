"""Node pools on Azure: scale sets."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
from pulumi import ComponentResource, Output, ResourceOptions
from pulumi_azure_native import compute

from components.azure.names import ADMINISTRATOR
from components.model import Environment
from components.model.nodes import POD_ADDRESSES
from components.model.sites import AzureSite

LARGEST_SET = 1000
"""Machines in one scale set from a gallery image (learn.microsoft.com, "Virtual Machine Scale Sets and placement
groups")."""

LARGEST_PLACEMENT_GROUP = 100
"""Machines in one placement group (same page), which InfiniBand does not leave."""


class PoolTooLargeError(ValueError):
    """One scale set cannot hold the pool."""


@dataclass(frozen=True, kw_only=True)
class AzurePoolArgs:
    """What a pool is made of."""

    environment: Environment
    pool_name: str
    """A pool of the environment on an Azure site."""
    resource_group: pulumi.Input[str]
    subnet_id: pulumi.Input[str]
    """The subnet of nodes and of their pods: all addresses of an interface come from one subnet."""
    custom_data: pulumi.Input[str]
    """cloud-init's input, plain, within :data:`components.render.LIMITS`."""
    tags: Mapping[str, str]


def has_infiniband(machine_type: str) -> bool:
    """Whether a type's machines are joined by InfiniBand: an ``r`` among the features in its name (learn.microsoft.com,
    "Azure virtual machine sizes naming conventions")."""
    features = re.fullmatch(r"Standard_[A-Z]+\d+(?:-\d+)?([a-z]*)(?:_.*)?", machine_type)
    return features is not None and "r" in features[1]


def largest_pool(machine_type: str) -> int:
    """Machines that one scale set of a type can hold."""
    return LARGEST_PLACEMENT_GROUP if has_infiniband(machine_type) else LARGEST_SET


class AzurePool(ComponentResource):
    """A scale set in uniform orchestration. How many machines it has is the autoscaler's, from its creation on.

    Uniform, though Azure recommends flexible for new sets: flexible offers no InfiniBand, which training on more than
    one machine needs, and one call lists every machine of a set, another every address, as the check of joining nodes
    wants it at a thousand of them.
    """

    scale_set_id: Output[str]
    scale_set_name: Output[str]
    """What the autoscaler sizes."""

    def __init__(self, name: str, args: AzurePoolArgs, opts: ResourceOptions | None = None) -> None:
        super().__init__("longhaul:azure:Pool", name, None, opts)
        self._name, self._args = name, args
        self._pool = args.environment.pools[args.pool_name]
        site = args.environment.sites[self._pool.site]
        if not isinstance(site, AzureSite):
            raise TypeError(f"pool {args.pool_name} is on {site.kind}, not azure")
        self._site = site
        self._check_size()
        self._tags = {**args.tags, "longhaul-pool": args.pool_name}
        scale_set = self._scale_set()
        self.scale_set_id, self.scale_set_name = scale_set.id, scale_set.name
        self.register_outputs({"scale_set_id": self.scale_set_id})

    def _check_size(self) -> None:
        machine_type, most = self._pool.machine_type, largest_pool(self._pool.machine_type)
        if self._pool.max > most:
            raise PoolTooLargeError(
                f"pools.{self._args.pool_name}.max: {self._pool.max} machines of {machine_type} do not fit into one "
                f"scale set, which holds {most}; make several pools of at most that size"
            )

    def _scale_set(self) -> compute.VirtualMachineScaleSet:
        one_group = has_infiniband(self._pool.machine_type)
        return compute.VirtualMachineScaleSet(
            f"{self._name}-set",
            vm_scale_set_name=self._name,
            resource_group_name=self._args.resource_group,
            location=self._site.region,
            # A placement group is in one place; Azure chooses which.
            zones=None if one_group else list(self._site.zones),
            zone_balance=None if one_group else False,
            orchestration_mode="Uniform",
            single_placement_group=one_group,
            platform_fault_domain_count=1,
            # Machines made to spare and taken away again would have joined the cluster in between.
            overprovision=False,
            sku=compute.SkuArgs(name=self._pool.machine_type, tier="Standard", capacity=self._pool.min),
            # A new image or user data is for new machines: running ones may be in the middle of a job.
            upgrade_policy=compute.UpgradePolicyArgs(mode=compute.UpgradeMode.MANUAL),
            # Nothing is granted to it: it is what a node could prove itself with.
            identity=compute.VirtualMachineScaleSetIdentityArgs(type=compute.ResourceIdentityType.SYSTEM_ASSIGNED),
            virtual_machine_profile=self._profile(),
            tags=self._tags,
            opts=ResourceOptions(parent=self, ignore_changes=["sku.capacity"]),
        )

    def _profile(self) -> compute.VirtualMachineScaleSetVMProfileArgs:
        spot = self._pool.spot
        return compute.VirtualMachineScaleSetVMProfileArgs(
            priority="Spot" if spot else "Regular",
            eviction_policy="Delete" if spot else None,
            # -1: up to the ordinary price, so that machines go for want of capacity only.
            billing_profile=compute.BillingProfileArgs(max_price=-1) if spot else None,
            os_profile=self._os_profile(),
            storage_profile=compute.VirtualMachineScaleSetStorageProfileArgs(
                image_reference=compute.ImageReferenceArgs(id=self._site.image),
                os_disk=compute.VirtualMachineScaleSetOSDiskArgs(
                    create_option="FromImage",
                    caching=compute.CachingTypes.READ_ONLY,
                    managed_disk=compute.VirtualMachineScaleSetManagedDiskParametersArgs(
                        storage_account_type="Premium_LRS"
                    ),
                ),
            ),
            network_profile=compute.VirtualMachineScaleSetNetworkProfileArgs(
                network_interface_configurations=[self._interface()]
            ),
            security_profile=compute.SecurityProfileArgs(encryption_at_host=True),
        )

    def _interface(self) -> compute.VirtualMachineScaleSetNetworkConfigurationArgs:
        return compute.VirtualMachineScaleSetNetworkConfigurationArgs(
            name="primary",
            primary=True,
            enable_accelerated_networking=True,
            enable_ip_forwarding=False,
            ip_configurations=ip_configurations(self._args.subnet_id),
        )

    def _os_profile(self) -> compute.VirtualMachineScaleSetOSProfileArgs:
        key = compute.SshPublicKeyArgs(
            key_data=self._args.environment.access.administrator_key,
            path=f"/home/{ADMINISTRATOR}/.ssh/authorized_keys",
        )
        return compute.VirtualMachineScaleSetOSProfileArgs(
            computer_name_prefix=f"{self._name}-",
            admin_username=ADMINISTRATOR,
            custom_data=Output.from_input(self._args.custom_data).apply(_encode),
            linux_configuration=compute.LinuxConfigurationArgs(
                disable_password_authentication=True,
                provision_vm_agent=True,
                ssh=compute.SshConfigurationArgs(public_keys=[key]),
            ),
        )


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def ip_configurations(subnet_id: pulumi.Input[str]) -> Sequence[compute.VirtualMachineScaleSetIPConfigurationArgs]:
    """The node's own address, then one for each pod: Azure gives a scale set's interface no range, only single
    addresses."""
    names = ["primary", *(f"pod-{index:02}" for index in range(POD_ADDRESSES))]
    return [
        compute.VirtualMachineScaleSetIPConfigurationArgs(
            name=name, primary=index == 0, subnet=compute.ApiEntityReferenceArgs(id=subnet_id)
        )
        for index, name in enumerate(names)
    ]
