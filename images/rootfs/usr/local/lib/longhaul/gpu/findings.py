"""Problems of a machine's GPUs, each with its own code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """Codes of problems, in the form of Kubernetes' reasons of conditions and events."""

    NVML_MISSING = "NvmlMissing"
    NVML_FAILED = "NvmlFailed"
    DRIVER_NOT_LOADED = "DriverNotLoaded"
    DRIVER_NOT_FOR_KERNEL = "DriverNotForKernel"
    DRIVER_MISMATCH = "DriverMismatch"
    TOOLKIT_MISMATCH = "DriverToolkitMismatch"
    NOUVEAU_LOADED = "NouveauLoaded"
    GPU_MISSING = "GpuMissing"
    GPU_UNEXPECTED = "GpuUnexpected"
    GPU_WRONG_MODEL = "GpuWrongModel"
    GPU_LOST = "GpuLost"
    GPU_RESET_REQUIRED = "GpuResetRequired"
    ECC_OFF = "EccOff"
    ECC_CHANGE_PENDING = "EccChangePending"
    ECC_UNCORRECTED = "EccUncorrected"
    ECC_RETIREMENT_PENDING = "EccRetirementPending"
    ROW_REMAP_PENDING = "RowRemapPending"
    ROW_REMAP_FAILED = "RowRemapFailed"
    NVLINK_DOWN = "NvLinkDown"
    XID_FATAL = "XidFatal"
    CHECK_FAILED = "GpuCheckFailed"


@dataclass(frozen=True, kw_only=True)
class GpuFinding:
    """One problem."""

    code: Code
    message: str
    """Text with the observation and the advice."""
    gpu: str = ""
    """Identity of the GPU (``GPU-…``); empty for a problem of the machine, or of a GPU that does not report its
    identity."""

    def __str__(self) -> str:
        return f"{self.code}{f' {self.gpu}' if self.gpu else ''}: {self.message}"


class LookError(Exception):
    """Raised if a part of the machine cannot be examined, so that its state is unknown. The message says what, and
    why."""
