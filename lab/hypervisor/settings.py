"""Settings of one environment's hypervisor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.hypervisor.addresses import AddressRanges
from lab.state import LabState


def _no_ca() -> bytes:
    return b""


@dataclass(frozen=True, kw_only=True)
class HypervisorSettings:
    """Settings of one environment's hypervisor, which do not change."""

    state: LabState
    plan: AddressRanges
    rootfs: Path
    """Root file system of a machine whose ``image`` is neither a path nor in ``images``."""
    images: Mapping[str, Path] = field(default_factory=dict)
    """Root file systems by image name; a rack's hosts have ``bare``."""
    gateway_rootfs: Path | None = None
    """Root file system of the clouds' VPN gateways; without it the gateways' tunnels stay down."""
    gpu_library: Path | None = None
    """Stand-in for the library of GPUs' driver; without it no machine has GPUs."""
    ca: Callable[[], bytes] = _no_ca
    """Returns the lab's CA certificate (PEM); called when a machine's disk is made."""
    boot_timeout_s: float = 600.0
    """Seconds that a machine may take until cloud-init has finished; user-data that installs packages takes minutes."""

    def image(self, name: str) -> Path:
        """Return the root file system of an image. The name is a path or a key of ``images``; any other name means
        ``rootfs``."""
        return Path(name) if name.startswith("/") else self.images.get(name, self.rootfs)
