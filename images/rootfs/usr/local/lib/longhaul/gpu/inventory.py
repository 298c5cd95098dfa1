"""GPUs that the driver knows, and the values that each GPU reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from gpu import nvml_abi
from gpu.findings import Code, GpuFinding
from gpu.nvml import Device, Nvml, NvmlError, Remapped

T = TypeVar("T")

_ABSENT = {nvml_abi.NOT_SUPPORTED, nvml_abi.FUNCTION_NOT_FOUND}
"""Error codes without a finding: the GPU lacks a feature, or the driver is too old to report the feature."""

_CODES = {nvml_abi.GPU_IS_LOST: Code.GPU_LOST, nvml_abi.RESET_REQUIRED: Code.GPU_RESET_REQUIRED}
_ADVICE = {
    nvml_abi.GPU_IS_LOST: "the GPU has fallen off the bus: reboot; if it comes back so, it or its slot is broken",
    nvml_abi.RESET_REQUIRED: "reset the GPU (nvidia-smi --gpu-reset) or reboot",
}


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """A GPU. Values that the GPU does not report are ``None``, or an empty text."""

    index: int
    uuid: str
    name: str
    pci: str
    """Address on the PCI bus, such as ``0000:18:00``."""
    memory_mib: int | None
    compute: tuple[int, int] | None
    """CUDA compute capability, major and minor."""
    ecc: tuple[bool, bool] | None
    """ECC now and after the next reboot: True if ECC is on."""
    uncorrected: int | None
    """Number of uncorrected ECC errors since the driver was loaded."""
    uncorrected_ever: int | None
    retirement_pending: bool | None
    remapped: Remapped | None
    temperature_c: int | None
    persistence: bool | None
    recovery_action: int | None
    links: tuple[bool, ...]
    """State of each NVLink of the GPU: True if the link is active."""


class _Reader:
    """Reader of one GPU's values. It keeps each error code once, with the function that returned the code first."""

    def __init__(self) -> None:
        self.refusals: dict[int, NvmlError] = {}

    def get(self, ask: Callable[[], T]) -> T | None:
        try:
            return ask()
        except NvmlError as error:
            if error.code not in _ABSENT:
                self.refusals.setdefault(error.code, error)
            return None

    def findings(self, uuid: str, what: str) -> list[GpuFinding]:
        return [
            GpuFinding(
                code=_CODES.get(code, Code.NVML_FAILED),
                message=f"{what}: {error}: {_ADVICE.get(code, 'see the kernel log (NVRM)')}",
                gpu=uuid,
            )
            for code, error in self.refusals.items()
        ]


def read(nvml: Nvml) -> tuple[list[Gpu], list[GpuFinding]]:
    """Return every GPU that can be queried, and findings for the errors of all GPUs. Raise ``NvmlError`` if the GPUs
    cannot be counted."""
    gpus: list[Gpu] = []
    findings: list[GpuFinding] = []
    for index in range(nvml.count()):
        reader = _Reader()
        gpu = _read(nvml, index, reader)
        if gpu is not None:
            gpus.append(gpu)
        what = f"GPU {index}" + (f" at {gpu.pci}" if gpu is not None and gpu.pci else "")
        findings += reader.findings(gpu.uuid if gpu is not None else "", what)
    return gpus, findings


def _read(nvml: Nvml, index: int, reader: _Reader) -> Gpu | None:
    device = reader.get(lambda: nvml.device(index))
    if device is None:
        return None
    return Gpu(
        index=index,
        uuid=reader.get(device.uuid) or "",
        name=reader.get(device.name) or "",
        pci=reader.get(device.pci) or "",
        memory_mib=reader.get(device.memory_mib),
        compute=reader.get(device.compute),
        ecc=reader.get(device.ecc),
        uncorrected=reader.get(device.uncorrected),
        uncorrected_ever=reader.get(device.uncorrected_ever),
        retirement_pending=reader.get(device.retirement_pending),
        remapped=reader.get(device.remapped),
        temperature_c=reader.get(device.temperature_c),
        persistence=reader.get(device.persistence),
        recovery_action=reader.get(device.recovery_action),
        links=_links(device, reader),
    )


def _links(device: Device, reader: _Reader) -> tuple[bool, ...]:
    """Return the state of each link. NVML refuses the number of a missing link as an invalid argument."""
    states: list[bool] = []
    for number in range(nvml_abi.MAX_LINKS):
        try:
            states.append(device.link(number))
        except NvmlError as error:
            if error.code not in _ABSENT | {nvml_abi.INVALID_ARGUMENT}:
                reader.refusals.setdefault(error.code, error)
    return tuple(states)
