"""A node pool in the environment file."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from clouds.base.replaces import Replaces
from clouds.base.section import GpuCheck, LabelKey, LabelValue, LeftOut, Name, Section


class Taint(Section):
    """A node taint."""

    key: LabelKey = Field(examples=["example.com/dedicated"])
    """Key of the taint."""
    value: LabelValue = ""
    """Value of the taint; may be empty."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    """Effect on pods that do not tolerate the taint."""


class Reservation(Section):
    """Capacity that is reserved in a cloud for a pool's machines. Longhaul uses it and does not make it."""

    id: str = Field(min_length=1, max_length=512, examples=["cr-0123456789abcdef0"])
    """On AWS the id of a Capacity Reservation, or the ARN of a resource group of such reservations. On Azure the
    resource id of a capacity reservation group."""
    kind: Literal["on-demand", "capacity-block"] = "on-demand"
    """`capacity-block` for AWS's Capacity Blocks, which begin and end at a set time; `on-demand` for every other
    reservation."""
    begins: Annotated[date | None, Replaces.NOTHING] = Field(default=None, examples=["2027-03-01"])
    """First day of the reserved capacity, in UTC. A Capacity Block has no machine before."""
    ends: Annotated[date | None, Replaces.NOTHING] = Field(default=None, examples=["2027-03-28"])
    """Last day of the reserved capacity, in UTC. AWS ends the machines of a Capacity Block before the day is over."""


class Pool(Section):
    """A group of like machines in one site in a cloud."""

    site: Annotated[Name, Replaces.STATE] = Field(examples=["use1"])
    """Name of a site in a cloud."""
    machine_type: Annotated[str, Replaces.NEW_NODES] = Field(examples=["p5.48xlarge"])
    """Machine type of that cloud."""
    min: Annotated[int, Replaces.NOTHING] = Field(default=0, ge=0)
    """Number of machines that always run."""
    max: Annotated[int, Replaces.SIZE] = Field(ge=1, le=7500)
    """Largest number of machines."""
    spare: Annotated[int, Replaces.NOTHING] = Field(default=0, ge=0, le=7500)
    """Number of empty machines that the autoscaler keeps beyond what is needed, so that work starts without waiting for
    one. They cost as much as other machines."""
    labels: Annotated[dict[LabelKey, LabelValue], Replaces.NEW_NODES] = Field(default_factory=dict)
    """Node labels."""
    taints: Annotated[tuple[Taint, ...], Replaces.NEW_NODES] = ()
    """Node taints."""
    startup_taints: Annotated[tuple[Taint, ...], Replaces.NEW_NODES] = Field(
        default=(), examples=[[{"key": "example.com/agent-not-ready", "effect": "NoSchedule"}]]
    )
    """Taints with which nodes register in addition. An agent on each node removes them. The autoscaler treats a node
    with such a taint as starting."""
    spot: Annotated[bool, Replaces.NEW_NODES] = False
    """True when the machines are spare capacity that the cloud may take back at any time."""
    zones: Annotated[tuple[str, ...], Replaces.STATE] = Field(default=(), examples=[["a"]])
    """Zones of the site that the machines are in. Left out, they are spread over all of them."""
    reservation: Annotated[LeftOut[Reservation], Replaces.NEW_NODES] = None
    """Reserved capacity that the machines use. Left out, capacity is requested when a machine is made. Spot machines
    cannot use a reservation."""
    placement_group: Annotated[bool, Replaces.NEW_NODES] = False
    """True when the machines are close together, in a cluster placement group of AWS that Longhaul makes. They are then
    in one zone. Azure's types with InfiniBand are in one group without this setting."""
    efa: Annotated[bool, Replaces.NEW_NODES] = False
    """True when each network card that supports an Elastic Fabric Adapter has one, for traffic between GPUs of several
    machines. Only AWS has these adapters. Machines that use them together are in one zone."""
    system_disk_gib: Annotated[int | None, Replaces.NEW_NODES] = Field(default=None, ge=32, le=4095)
    """Size in GiB of each machine's system disk: system, logs, pods' `emptyDir` volumes, and images where the type has
    no local SSD. It is at least as large as the image's disk. Left out, 200 on AWS, or 100 where the type has local
    SSD, and the image's own size on Azure."""
    deletion_notice_min: Annotated[int | None, Replaces.NEW_NODES] = Field(default=None, ge=5, le=15)
    """Minutes between Azure's notice to a machine and the machine's deletion, so that its pods can end in time. A
    machine whose pods have all ended is deleted at once. Left out, machines are deleted without notice. Spot machines
    have a notice of their own."""
    priority: Annotated[int, Replaces.NOTHING] = Field(default=100, ge=0, le=1000)
    """Priority of the pool: pools with a lower number are filled first."""
    fallbacks: Annotated[tuple[Name, ...], Replaces.NOTHING] = ()
    """Pools that the autoscaler asks for machines right after this one. Other pools that fit are asked as well, in the
    order of their priority. Work of teams stays within its kind of capacity."""
    idle_minutes: Annotated[int | None, Replaces.NOTHING] = Field(default=None, ge=1, le=10_080)
    """Minutes without work after which a node of the pool may be removed. Left out, the autoscaler's own value."""
    join_minutes: Annotated[int | None, Replaces.NOTHING] = Field(default=None, ge=2, le=240)
    """Minutes in which a machine of the pool must become a node. Left out, the autoscaler's own value."""
    huge_pages_gib: Annotated[int, Replaces.NEW_NODES] = Field(default=0, ge=0)
    """Memory of each machine that is reserved as huge pages of 1 GiB, in GiB. Pods request it as `hugepages-1Gi`, and
    it cannot be used for anything else. At most 85% of the memory, including the 10 GiB that machines with `efa`
    reserve for their adapters."""
    gpu_check: Annotated[GpuCheck, Replaces.NEW_NODES] = ()
    """Program in the machines' image, with its arguments, that tests memory and compute of all GPUs at once before a
    machine gets work. Exit code 0 means healthy. Left out, GPUs are judged only by the data that they report about
    themselves."""
