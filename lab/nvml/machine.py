"""Writes the file of the stand-in library, which describes a machine with GPUs, from plain values."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

VARIABLE = "LONGHAUL_NVML_STAND_IN"
"""Variable with the path of the stand-in's file; without it, the stand-in reads :data:`DEFAULT` (machine.c)."""
DEFAULT = Path("/etc/longhaul-nvml-stand-in")

DRIVER = "535.309.01"
H100 = "NVIDIA H100 80GB HBM3"

LOST = 15
RESET_REQUIRED = 16
MISMATCH = 18
"""Numbers of NVML_ERROR_GPU_IS_LOST, NVML_ERROR_RESET_REQUIRED and NVML_ERROR_LIB_RM_VERSION_MISMATCH."""


@dataclass(frozen=True, kw_only=True)
class StandInGpu:
    """One GPU, healthy and idle. ``None``: it does not support that value."""

    uuid: str
    pci: str
    name: str = H100
    result: int = 0
    """Result of every call for it: a number of ``nvmlReturn_t``."""
    memory_mib: int | None = 81559
    ecc: int | None = 1
    ecc_pending: int | None = None
    volatile_corrected: int | None = 0
    volatile_uncorrected: int | None = 0
    aggregate_corrected: int | None = 0
    aggregate_uncorrected: int | None = 0
    retirement_pending: int | None = None
    """Pending retirement of pages. GPUs before Ampere retire pages; later ones remap rows."""
    remapped_correctable: int | None = 0
    remapped_uncorrectable: int | None = 0
    remap_pending: int | None = 0
    remap_failed: int | None = 0
    temperature_c: int | None = 31
    persistence: int | None = 1
    recovery_action: int | None = None
    compute_capability: int | None = 90
    architecture: int | None = 9
    xid: int | None = None
    """Number of the latest Xid; a new number is a critical Xid for programs that wait for events."""
    links: tuple[int | None, ...] = (1,) * 18


def gpu(number: int, **changes: object) -> StandInGpu:
    """Return the GPU of that number in a machine, with an identity of its own."""
    identity = {"uuid": f"GPU-{number:08x}-0000-0000-0000-000000000000", "pci": f"00000000:{0x18 + number:02X}:00.0"}
    return StandInGpu(**{**identity, **changes})  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class StandInMachine:
    """A machine and its driver."""

    gpus: tuple[StandInGpu, ...] = field(default_factory=lambda: (gpu(0), gpu(1)))
    driver_version: str = DRIVER
    nvml_version: str = f"12.{DRIVER}"
    """Version of the library: the interface's, then that of its driver."""
    cuda_version: int = 12020
    """CUDA 12.2: 1000 times the major and 10 times the minor version."""
    init_result: int = 0

    def text(self) -> str:
        """Return the text of the stand-in's file."""
        lines = [f"{name} = {getattr(self, name)}" for name in _names(self) if name != "gpus"]
        for device in self.gpus:
            lines += ["", "gpu", *_lines(device)]
        return "\n".join(lines) + "\n"


def _names(of: StandInGpu | StandInMachine) -> list[str]:
    return [entry.name for entry in fields(of)]


def _lines(device: StandInGpu) -> list[str]:
    values = {name: getattr(device, name) for name in _names(device) if name != "links"}
    links = " ".join("-" if link is None else str(link) for link in device.links)
    return [f"{name} = {value}" for name, value in values.items() if value is not None] + [f"links = {links}"]
