"""A network disk that outlives the machine to which it is attached."""

from __future__ import annotations

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_azure_native import compute

from clouds.base.tags import site_tags
from components.azure.account import azure_site
from components.model import Environment, Machine
from components.model.sites.cloud_names import cloud_name
from contract.tag_keys import MACHINE


def data_disk(
    environment: Environment, machine: Machine, *, group: pulumi.Input[str], opts: ResourceOptions
) -> Output[str]:
    """Declare the network disk of a machine's data, in the machine's zone, and return its id.

    It is a Premium SSD v2: 3,000 operations a second at any size, where a Premium SSD of 64 GiB has 240. It exists in
    one zone, and only machines of that zone can attach it (learn.microsoft.com, "Deploy a Premium SSD v2", "Azure
    managed disk types"). Its export is disabled, because only the Secrets in etcd's data are encrypted.
    """
    disk = compute.Disk(
        f"{machine.name}-data",
        disk_name=cloud_name(environment, f"{machine.name}-data"),
        resource_group_name=group,
        location=azure_site(environment, machine.site).region,
        zones=[machine.zone],
        sku=compute.DiskSkuArgs(name=compute.DiskStorageAccountTypes.PREMIUM_V2_LRS),
        creation_data=compute.CreationDataArgs(create_option=compute.DiskCreateOption.EMPTY),
        disk_size_gb=machine.disk_gib,
        network_access_policy=compute.NetworkAccessPolicy.DENY_ALL,
        public_network_access=compute.PublicNetworkAccess.DISABLED,
        tags={**site_tags(environment, machine.site), MACHINE: str(machine.role)},
        opts=opts,
    )
    return disk.id
