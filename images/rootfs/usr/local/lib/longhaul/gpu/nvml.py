"""NVIDIA's management library (NVML), limited to the functions that the preflight needs. The library is part of the
driver. nvml.h describes the functions (see nvml_abi.py)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from types import TracebackType

from gpu import nvml_abi

LIBRARY = "libnvidia-ml.so.1"
"""File name by which the dynamic loader finds the library."""


class NvmlMissingError(Exception):
    """Raised if the library cannot be loaded. The message is the loader's."""


class NvmlError(Exception):
    """Raised if a function returns an error."""

    def __init__(self, function: str, code: int) -> None:
        self.code = code
        self.name = f"NVML_ERROR_{nvml_abi.NAMES[code]}" if code in nvml_abi.NAMES else f"NVML error {code}"
        super().__init__(f"{function}: {self.name}")


@dataclass(frozen=True, kw_only=True)
class Remapped:
    """Numbers and state of the rows of a GPU's memory that spare rows replace."""

    correctable: int
    uncorrectable: int
    pending: bool
    """True if more rows will be remapped at the next reset."""
    failed: bool
    """True if a row could not be remapped."""


class Device:
    """A GPU, by its handle, which is a struct of one pointer and is passed like the pointer. The methods raise
    ``NvmlError``, with ``NOT_SUPPORTED`` for features that the GPU lacks."""

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._nvml, self._handle = nvml, handle

    def uuid(self) -> str:
        return self._text("nvmlDeviceGetUUID")

    def name(self) -> str:
        return self._text("nvmlDeviceGetName")

    def pci(self) -> str:
        """Return the address on the PCI bus in the kernel's form, such as ``0000:18:00``."""
        info = nvml_abi.Pci()
        self._call("nvmlDeviceGetPciInfo_v3", ctypes.byref(info))
        return f"{info.domain:04x}:{info.bus:02x}:{info.device:02x}"

    def memory_mib(self) -> int:
        memory = nvml_abi.NvmlMemory()
        self._call("nvmlDeviceGetMemoryInfo", ctypes.byref(memory))
        return int(memory.total) >> 20

    def ecc(self) -> tuple[bool, bool]:
        """Return whether ECC is on, and whether it will be on after the next reboot."""
        on, pending = self._numbers("nvmlDeviceGetEccMode", 2)
        return bool(on), bool(pending)

    def uncorrected(self) -> int:
        """Return the number of uncorrected ECC errors since the driver was loaded."""
        return self._ecc_errors(nvml_abi.VOLATILE)

    def uncorrected_ever(self) -> int:
        """Return the number of uncorrected ECC errors in the GPU's life."""
        return self._ecc_errors(nvml_abi.AGGREGATE)

    def retirement_pending(self) -> bool:
        """Return whether pages of memory wait for a reboot to be retired."""
        (pending,) = self._numbers("nvmlDeviceGetRetiredPagesPendingStatus", 1)
        return bool(pending)

    def remapped(self) -> Remapped:
        correctable, uncorrectable, pending, failed = self._numbers("nvmlDeviceGetRemappedRows", 4)
        return Remapped(
            correctable=correctable, uncorrectable=uncorrectable, pending=bool(pending), failed=bool(failed)
        )

    def temperature_c(self) -> int:
        celsius = ctypes.c_uint()
        self._call("nvmlDeviceGetTemperature", ctypes.c_uint(nvml_abi.GPU_SENSOR), ctypes.byref(celsius))
        return celsius.value

    def compute(self) -> tuple[int, int]:
        """Return the CUDA compute capability, such as ``(9, 0)``."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvmlDeviceGetCudaComputeCapability", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def persistence(self) -> bool:
        (mode,) = self._numbers("nvmlDeviceGetPersistenceMode", 1)
        return bool(mode)

    def link(self, number: int) -> bool:
        """Return whether an NVLink is active."""
        active = ctypes.c_uint()
        self._call("nvmlDeviceGetNvLinkState", ctypes.c_uint(number), ctypes.byref(active))
        return bool(active.value)

    def recovery_action(self) -> int:
        """Return the number of the action that the driver requests (``nvmlDeviceGpuRecoveryAction_t``); 0 for none."""
        value = nvml_abi.Field(field=nvml_abi.RECOVERY_ACTION)
        self._call("nvmlDeviceGetFieldValues", ctypes.c_int(1), ctypes.byref(value))
        if value.result:
            raise NvmlError("nvmlDeviceGetFieldValues", value.result)
        return int(value.value.unsigned)

    def _ecc_errors(self, counter: int) -> int:
        count = ctypes.c_ulonglong()
        kind = (ctypes.c_uint(nvml_abi.UNCORRECTED), ctypes.c_uint(counter))
        self._call("nvmlDeviceGetTotalEccErrors", *kind, ctypes.byref(count))
        return count.value

    def _text(self, function: str) -> str:
        buffer = ctypes.create_string_buffer(nvml_abi.TEXT)
        self._call(function, buffer, ctypes.c_uint(nvml_abi.TEXT))
        return buffer.value.decode()

    def _numbers(self, function: str, count: int) -> list[int]:
        numbers = [ctypes.c_uint() for _ in range(count)]
        self._call(function, *(ctypes.byref(number) for number in numbers))
        return [number.value for number in numbers]

    def _call(self, function: str, *arguments: object) -> None:
        self._nvml.call(function, self._handle, *arguments)


class Nvml:
    """The loaded library. As a context manager, it opens the driver and closes it again."""

    def __init__(self, path: str = LIBRARY) -> None:
        """Load the library. Raise ``NvmlMissingError`` if it cannot be loaded."""
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise NvmlMissingError(str(error)) from None

    def __enter__(self) -> Nvml:
        """Open the driver. Raise ``NvmlError`` if the driver does not answer or does not match the library."""
        self.call("nvmlInit_v2")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.call("nvmlShutdown")

    def library_version(self) -> str:
        """Return the version of the driver to which the library belongs. No open driver is needed. The library's answer
        begins with the version of the interface, which is removed here."""
        return self._text("nvmlSystemGetNVMLVersion").partition(".")[2]

    def driver_version(self) -> str:
        return self._text("nvmlSystemGetDriverVersion")

    def cuda_version(self) -> str:
        """Return the newest CUDA version that the driver supports, such as ``12.2``."""
        version = ctypes.c_int()
        self.call("nvmlSystemGetCudaDriverVersion", ctypes.byref(version))
        # NVML_CUDA_DRIVER_VERSION_MAJOR and _MINOR of nvml.h.
        return f"{version.value // 1000}.{version.value % 1000 // 10}"

    def count(self) -> int:
        """Return the number of GPUs that the driver knows."""
        count = ctypes.c_uint()
        self.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        return count.value

    def device(self, index: int) -> Device:
        handle = ctypes.c_void_p()
        self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        return Device(self, handle)

    def call(self, function: str, *arguments: object) -> None:
        """Call a function that returns an error code. Raise ``NvmlError`` if the code is not 0, or if this library
        lacks the function."""
        try:
            symbol = getattr(self._library, function)
        except AttributeError:
            raise NvmlError(function, nvml_abi.FUNCTION_NOT_FOUND) from None
        if code := symbol(*arguments):
            raise NvmlError(function, code)

    def _text(self, function: str) -> str:
        buffer = ctypes.create_string_buffer(nvml_abi.TEXT)
        self.call(function, buffer, ctypes.c_uint(nvml_abi.TEXT))
        return buffer.value.decode()
