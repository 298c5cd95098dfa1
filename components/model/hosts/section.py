"""Bare-metal hosts, listed in a file of their own: a stack configuration beyond about 120 kB breaks the engine."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Literal

from pydantic import Field

from clouds.base.section import GpuCheck, GpuModel, GpuNvlinks, HostKey, Name, Section


class Host(Section):
    """One bare-metal host."""

    name: str = Field(
        pattern=r"^[a-z]([a-z0-9-]*[a-z0-9])?$",
        max_length=63,
        examples=["colo-gpu-000"],
        json_schema_extra={"patternErrorMessage": "lower-case letters, digits and hyphens, a letter first, at most 63"},
    )
    """Name of the host, unique in the environment."""
    site: Name = Field(examples=["colo"])
    """Name of the host's on-premises site."""
    address: IPv4Address | None = Field(default=None, examples=["10.80.32.10"])
    """IPv4 address in the site's node range. If left out, it follows from the host's position among its site's
    hosts."""
    host_key: HostKey | None = None
    """SSH host key of the machine, pinned."""
    gpus: int = Field(default=0, ge=0, le=16)
    """Number of whole GPUs."""
    gpu_model: GpuModel = ""
    """Words that the name of every GPU must contain, as `gpu_model` of a machine type."""
    gpu_nvlinks: GpuNvlinks | None = None
    """Number of NVLinks of each GPU that must be active, as `gpu_nvlinks` of a machine type."""
    gpu_check: GpuCheck = ()
    """Program that tests the GPUs before they get work, as `gpu_check` of a pool."""
    gpu_driver: Literal["installed", "provided"] = "installed"
    """Origin of NVIDIA's driver. With `installed`, Longhaul installs the pinned branch. With `provided`, the host's own
    system has one (DGX OS)."""
    gpu_switches: Literal["auto", "present", "absent"] = "auto"
    """Presence of NVSwitches between the GPUs, which need the fabric manager. With `auto`, Longhaul looks at the PCI
    bus. The values `present` and `absent` overrule that (HGX B200 does not show its own there)."""
    rdma: Literal["infiniband", "roce"] | None = None
    """RDMA network of the host's NVIDIA (Mellanox) adapters: `infiniband`, or `roce`, RDMA over Ethernet. Its pods get
    all adapters of that kind. Left out, the host has none for pods."""
    huge_pages_gib: int = Field(default=0, ge=0)
    """Memory in GiB that is reserved for huge pages of 1 GiB, as `huge_pages_gib` of a pool."""
    quarantined: bool = False
    """True for a host that somebody else may be root on. The gateways and the other hosts of its site drop what comes
    from it and its pods, but for answers over SSH to operators, and it is set up no more. `longhaul machine quarantine`
    does the rest."""


class Hosts(Section):
    """The hosts file. Addresses follow from the order of the hosts: append new ones, and keep the entry of a host that
    is gone."""

    hosts: tuple[Host, ...] = ()
    """Bare-metal hosts, in the order that gives their addresses."""
