"""What the hypervisor of one environment needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.hypervisor.addresses import Plan
from lab.state import LabState


def _no_ca() -> bytes:
    return b""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Frozen settings of one environment's hypervisor."""

    state: LabState
    plan: Plan
    rootfs: Path
    """The root file system of a machine whose ``image`` is no path and none of ``images``."""
    images: Mapping[str, Path] = field(default_factory=dict)
    """Root file systems by the names of images: a rack's hosts have ``bare``."""
    gateway_rootfs: Path | None = None
    """The root file system of the clouds' VPN gateways; without one their tunnels stay down."""
    ca: Callable[[], bytes] = _no_ca
    """The lab's CA certificate (PEM), asked for when a machine's disk is made."""
    boot_timeout_s: float = 600.0
    """How long a machine may take until cloud-init has finished; user-data that installs packages takes minutes."""

    def image(self, name: str) -> Path:
        """The root file system of an image: its name is its path, or means the default one."""
        return Path(name) if name.startswith("/") else self.images.get(name, self.rootfs)
