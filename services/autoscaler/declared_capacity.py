"""Capacity of a pool's new node, by its declared machine type."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from clouds.base.machine_types import Rdma
from clouds.registry import cloud_of
from components.model.nodes.kubelet_reservations import (
    DISK_GIB,
    EVICTION_DISK_GIB,
    EVICTION_MIB,
    MAX_PODS,
    SYSTEM_MIB,
    kube_reserved,
)
from components.model.nodes.rdma import EFA_RESOURCE, SHARED, huge_pages_2mib, pool_rdma, shared_resource
from contract.kubernetes.quantities import Resources, whole
from contract.resources import GPU_RESOURCE
from services.autoscaler.pod_shapes import PODS

if TYPE_CHECKING:
    from components.model import Environment


GIB, MIB = 2**30, 2**20

USABLE_MEMORY_SHARE = Decimal("0.925")
"""Share of a machine type's memory that its operating system has; the rest is the firmware's and the hypervisor's.
Karpenter assumes the same (karpenter.sh, "Settings", ``VM_MEMORY_OVERHEAD_PERCENT``: 7.5 %) until a node reports more
precisely."""

KEPT_MIB = SYSTEM_MIB + EVICTION_MIB
"""Memory that a kubelet reserves for the system and withholds from pods, MiB."""


def declared_capacity(environment: Environment, name: str) -> Resources:
    """Return the amounts that a new node of a pool has for pods, by its declared machine type. The amount of local
    storage follows from ``system_disk_gib`` or the cloud's default."""
    pool = environment.pools[name]
    machine = environment.machine_type(pool.machine_type)
    reserved = {key: whole(key, text) for key, text in kube_reserved(machine.vcpus).items()}
    small = huge_pages_2mib(environment, name) * 2 * MIB
    huge = pool.huge_pages_gib * GIB
    memory = int(machine.memory_gib * GIB * USABLE_MEMORY_SHARE) - reserved["memory"] - KEPT_MIB * MIB - huge - small
    cores = machine.vcpus * 1000 - reserved["cpu"]
    # Zero GPUs are declared as well, so that a node's claim to have some is ignored.
    amounts = {PODS: MAX_PODS, "cpu": cores, "memory": memory, GPU_RESOURCE: machine.gpus}
    amounts |= {key: amount for key, amount in {"hugepages-1Gi": huge, "hugepages-2Mi": small}.items() if amount}
    disk = pool.system_disk_gib or cloud_of(environment.sites[pool.site]).groups.default_disk_gib(machine)
    if disk:
        # The file system takes some of the disk.
        amounts["ephemeral-storage"] = int(disk * GIB * 0.9) - (DISK_GIB + EVICTION_DISK_GIB) * GIB
    return amounts | _adapters(environment, name)


def _adapters(environment: Environment, name: str) -> Resources:
    rdma = pool_rdma(environment, name)
    if rdma is Rdma.EFA and environment.images.efa_device_plugin:
        return {EFA_RESOURCE: environment.machine_type(environment.pools[name].machine_type).efa_cards}
    return {shared_resource(rdma): MAX_PODS} if rdma in SHARED else {}
