"""Numbers and layouts of NVIDIA's management library, from nvml.h (NVML 12.9.40: pkg/nvml/nvml.h in the Go module
github.com/NVIDIA/go-nvml v0.12.9-0; docs.nvidia.com/deploy/nvml-api)."""

from __future__ import annotations

import ctypes

MAX_LINKS = 18
"""NVML_NVLINK_MAX_LINKS."""

TEXT = 96
"""Size of text buffers in bytes, which is enough for all texts that are read here (NVML_DEVICE_UUID_V2_BUFFER_SIZE,
NVML_DEVICE_NAME_V2_BUFFER_SIZE)."""

UNCORRECTED = 1
"""NVML_MEMORY_ERROR_TYPE_UNCORRECTED."""
VOLATILE = 0
"""NVML_VOLATILE_ECC: since the driver was loaded."""
AGGREGATE = 1
"""NVML_AGGREGATE_ECC: over the GPU's life."""
GPU_SENSOR = 0
"""NVML_TEMPERATURE_GPU."""
RECOVERY_ACTION = 230
"""NVML_FI_DEV_GET_GPU_RECOVERY_ACTION."""

INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
DRIVER_NOT_LOADED = 9
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
LIB_RM_VERSION_MISMATCH = 18

NAMES = {
    1: "UNINITIALIZED",
    INVALID_ARGUMENT: "INVALID_ARGUMENT",
    NOT_SUPPORTED: "NOT_SUPPORTED",
    4: "NO_PERMISSION",
    6: "NOT_FOUND",
    7: "INSUFFICIENT_SIZE",
    8: "INSUFFICIENT_POWER",
    DRIVER_NOT_LOADED: "DRIVER_NOT_LOADED",
    10: "TIMEOUT",
    11: "IRQ_ISSUE",
    12: "LIBRARY_NOT_FOUND",
    FUNCTION_NOT_FOUND: "FUNCTION_NOT_FOUND",
    14: "CORRUPTED_INFOROM",
    GPU_IS_LOST: "GPU_IS_LOST",
    RESET_REQUIRED: "RESET_REQUIRED",
    17: "OPERATING_SYSTEM",
    LIB_RM_VERSION_MISMATCH: "LIB_RM_VERSION_MISMATCH",
    19: "IN_USE",
    20: "MEMORY",
    21: "NO_DATA",
    23: "INSUFFICIENT_RESOURCES",
    25: "ARGUMENT_VERSION_MISMATCH",
    26: "DEPRECATED",
    27: "NOT_READY",
    28: "GPU_NOT_FOUND",
    29: "INVALID_STATE",
    999: "UNKNOWN",
}
"""Names of ``nvmlReturn_t``, without ``NVML_ERROR_``."""


class Pci(ctypes.Structure):
    """``nvmlPciInfo_t``."""

    _fields_ = (
        ("bus_id_legacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("device_id", ctypes.c_uint),
        ("subsystem_id", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32),
    )


class NvmlMemory(ctypes.Structure):
    """``nvmlMemory_t``, in bytes."""

    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class Value(ctypes.Union):
    """``nvmlValue_t``: eight bytes, from which this project reads an unsigned int."""

    _fields_ = (("unsigned", ctypes.c_uint), ("double", ctypes.c_double))


class Field(ctypes.Structure):
    """``nvmlFieldValue_t``."""

    _fields_ = (
        ("field", ctypes.c_uint),
        ("scope", ctypes.c_uint),
        ("timestamp", ctypes.c_longlong),
        ("latency_us", ctypes.c_longlong),
        ("type", ctypes.c_uint),
        ("result", ctypes.c_uint),
        ("value", Value),
    )
