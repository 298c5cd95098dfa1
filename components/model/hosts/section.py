"""Bare-metal hosts, listed in a separate file: a stack configuration beyond about 120 kB breaks the engine."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Literal

from pydantic import Field

from clouds.base.replaces import Replaces
from clouds.base.section import GpuCheck, GpuModel, GpuNvlinks, HostKey, Name, Section


class Host(Section):
    """One bare-metal host."""

    name: Annotated[str, Replaces.STATE] = Field(
        pattern=r"^[a-z]([a-z0-9-]*[a-z0-9])?$",
        max_length=63,
        examples=["colo-gpu-000"],
        json_schema_extra={"patternErrorMessage": "lower-case letters, digits and hyphens, a letter first, at most 63"},
    )
    """Name of the host, unique in the environment."""
    site: Annotated[Name, Replaces.STATE] = Field(examples=["colo"])
    """Name of the host's on-premises site."""
    address: Annotated[IPv4Address | None, Replaces.STATE] = Field(default=None, examples=["10.80.32.10"])
    """IPv4 address in the site's node range. If left out, it follows from the host's position among its site's
    hosts."""
    host_key: Annotated[HostKey | None, Replaces.STATE] = None
    """SSH host key of the machine, pinned."""
    gpus: Annotated[int, Replaces.STATE] = Field(default=0, ge=0, le=16)
    """Number of whole GPUs."""
    gpu_model: Annotated[GpuModel, Replaces.STATE] = ""
    """Words that the name of every GPU must contain, like `gpu_model` of a machine type."""
    gpu_nvlinks: Annotated[GpuNvlinks | None, Replaces.STATE] = None
    """Number of NVLinks of each GPU that must be active, like `gpu_nvlinks` of a machine type."""
    gpu_check: Annotated[GpuCheck, Replaces.STATE] = ()
    """Program that tests the GPUs before they get work, like `gpu_check` of a pool."""
    gpu_driver: Annotated[Literal["installed", "provided"], Replaces.STATE] = "installed"
    """Origin of NVIDIA's driver. With `installed`, Longhaul installs the pinned branch. With `provided`, the host's
    operating system includes one (DGX OS)."""
    gpu_switches: Annotated[Literal["auto", "present", "absent"], Replaces.STATE] = "auto"
    """Presence of NVSwitches between the GPUs, which need the fabric manager. With `auto`, Longhaul looks at the PCI
    bus. The values `present` and `absent` overrule the result (an HGX B200 does not show its NVSwitches there)."""
    rdma: Annotated[Literal["infiniband", "roce"] | None, Replaces.STATE] = None
    """RDMA network of the host's NVIDIA (Mellanox) adapters: `infiniband`, or `roce`, RDMA over Ethernet. Its pods get
    all adapters of that kind. If left out, pods get no adapters on this host."""
    huge_pages_gib: Annotated[int, Replaces.STATE] = Field(default=0, ge=0)
    """Memory in GiB that is reserved for huge pages of 1 GiB, like `huge_pages_gib` of a pool."""
    quarantined: Annotated[bool, Replaces.STATE] = False
    """True for a host on which somebody else may be root. The gateways and the other hosts of its site drop packets
    from it and its pods, except answers over SSH to operators, and Longhaul no longer configures it. `longhaul machine
    quarantine` does the rest."""


class Hosts(Section):
    """The hosts file. Addresses follow from the order of the hosts: append new hosts, and keep the entry of a host that
    is gone."""

    hosts: Annotated[tuple[Host, ...], Replaces.STATE] = ()
    """Bare-metal hosts. Their addresses follow from their order."""
