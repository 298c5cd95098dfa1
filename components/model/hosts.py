"""Bare-metal hosts, listed in a file of their own: a stack configuration beyond about 120 kB breaks the engine."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Literal

from pydantic import Field

from clouds.base.section import GpuCheck, GpuModel, GpuNvlinks, HostKey, Name, Section


class BareMetalHost(Section):
    """One machine in a rack."""

    name: str = Field(
        pattern=r"^[a-z]([a-z0-9-]*[a-z0-9])?$",
        max_length=63,
        examples=["colo-gpu-000"],
        json_schema_extra={"patternErrorMessage": "lower-case letters, digits and hyphens, a letter first, at most 63"},
    )
    """Host name, unique in the environment."""
    site: Name = Field(examples=["colo"])
    """The on-prem site it stands in."""
    address: IPv4Address | None = Field(default=None, examples=["10.80.32.10"])
    """Address in the site's node range; left out, the one that the host's place among its site's hosts gives."""
    host_key: HostKey | None = None
    """SSH host key, pinned."""
    gpus: int = Field(default=0, ge=0, le=16)
    """Whole GPUs."""
    gpu_model: GpuModel = ""
    """Words of the name that every GPU has to have, as a machine type's."""
    gpu_nvlinks: GpuNvlinks | None = None
    """NVLinks of each GPU that have to be active, as a machine type's."""
    gpu_check: GpuCheck = ()
    """Program that tries the GPUs before they get work, as a pool's."""
    gpu_driver: Literal["installed", "provided"] = "installed"
    """Who brings NVIDIA's driver: Longhaul (the pinned branch), or the host's own system provides one (DGX OS)."""
    gpu_switches: Literal["auto", "present", "absent"] = "auto"
    """NVSwitches between them, which want the fabric manager: by the PCI bus, or as is said (HGX B200 does not show its
    own)."""
    huge_pages_gib: int = Field(default=0, ge=0)
    """Memory that is set aside as huge pages of 1 GiB, GiB, as a pool's."""


class Hosts(Section):
    """The hosts file. Its order gives addresses: append, and leave a gap's entry in place when a host is gone."""

    hosts: tuple[BareMetalHost, ...] = ()
    """The hosts."""
