"""NVIDIA's management library: the few functions of it that the preflight needs. It comes with the driver and belongs
to it. What each function does: nvml.h (see abi.py)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from types import TracebackType

from gpu import abi

LIBRARY = "libnvidia-ml.so.1"
"""Found where the dynamic loader looks."""


class NvmlMissingError(Exception):
    """There is no library; the message is the loader's."""


class NvmlError(Exception):
    """A function refused."""

    def __init__(self, function: str, code: int) -> None:
        self.code = code
        self.name = f"NVML_ERROR_{abi.NAMES[code]}" if code in abi.NAMES else f"NVML error {code}"
        super().__init__(f"{function}: {self.name}")


@dataclass(frozen=True, kw_only=True)
class Remapped:
    """Rows of a GPU's memory that others stand in for."""

    correctable: int
    uncorrectable: int
    pending: bool
    """Whether more will be at the next reset."""
    failed: bool
    """Whether one ever could not be."""


class Device:
    """One GPU, by its handle: a struct of one pointer, which is passed as the pointer is. Its functions raise
    ``NvmlError``, with ``NOT_SUPPORTED`` for what this GPU does not have."""

    def __init__(self, nvml: Nvml, handle: ctypes.c_void_p) -> None:
        self._nvml, self._handle = nvml, handle

    def uuid(self) -> str:
        return self._text("nvmlDeviceGetUUID")

    def name(self) -> str:
        return self._text("nvmlDeviceGetName")

    def pci(self) -> str:
        """Place on the bus, as the kernel writes it: ``0000:18:00``."""
        info = abi.Pci()
        self._call("nvmlDeviceGetPciInfo_v3", ctypes.byref(info))
        return f"{info.domain:04x}:{info.bus:02x}:{info.device:02x}"

    def memory_mib(self) -> int:
        memory = abi.Memory()
        self._call("nvmlDeviceGetMemoryInfo", ctypes.byref(memory))
        return int(memory.total) >> 20

    def ecc(self) -> tuple[bool, bool]:
        """Whether ECC is on, and whether it will be after the next reboot."""
        on, pending = self._numbers("nvmlDeviceGetEccMode", 2)
        return bool(on), bool(pending)

    def uncorrected(self) -> int:
        """ECC errors that were not corrected, since the driver was loaded."""
        return self._ecc_errors(abi.VOLATILE)

    def uncorrected_ever(self) -> int:
        """The same in the GPU's life."""
        return self._ecc_errors(abi.AGGREGATE)

    def retirement_pending(self) -> bool:
        """Whether pages of memory wait for a reboot to be retired."""
        (pending,) = self._numbers("nvmlDeviceGetRetiredPagesPendingStatus", 1)
        return bool(pending)

    def remapped(self) -> Remapped:
        correctable, uncorrectable, pending, failed = self._numbers("nvmlDeviceGetRemappedRows", 4)
        return Remapped(
            correctable=correctable, uncorrectable=uncorrectable, pending=bool(pending), failed=bool(failed)
        )

    def temperature_c(self) -> int:
        celsius = ctypes.c_uint()
        self._call("nvmlDeviceGetTemperature", ctypes.c_uint(abi.GPU_SENSOR), ctypes.byref(celsius))
        return celsius.value

    def compute(self) -> tuple[int, int]:
        """CUDA compute capability: ``(9, 0)``."""
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._call("nvmlDeviceGetCudaComputeCapability", ctypes.byref(major), ctypes.byref(minor))
        return major.value, minor.value

    def persistence(self) -> bool:
        (mode,) = self._numbers("nvmlDeviceGetPersistenceMode", 1)
        return bool(mode)

    def link(self, number: int) -> bool:
        """Whether an NVLink is active."""
        active = ctypes.c_uint()
        self._call("nvmlDeviceGetNvLinkState", ctypes.c_uint(number), ctypes.byref(active))
        return bool(active.value)

    def recovery_action(self) -> int:
        """What the driver wants done with the GPU: a number of ``nvmlDeviceGpuRecoveryAction_t``, 0 for nothing."""
        value = abi.Field(field=abi.RECOVERY_ACTION)
        self._call("nvmlDeviceGetFieldValues", ctypes.c_int(1), ctypes.byref(value))
        if value.result:
            raise NvmlError("nvmlDeviceGetFieldValues", value.result)
        return int(value.value.unsigned)

    def _ecc_errors(self, counter: int) -> int:
        count = ctypes.c_ulonglong()
        kind = (ctypes.c_uint(abi.UNCORRECTED), ctypes.c_uint(counter))
        self._call("nvmlDeviceGetTotalEccErrors", *kind, ctypes.byref(count))
        return count.value

    def _text(self, function: str) -> str:
        buffer = ctypes.create_string_buffer(abi.TEXT)
        self._call(function, buffer, ctypes.c_uint(abi.TEXT))
        return buffer.value.decode()

    def _numbers(self, function: str, count: int) -> list[int]:
        found = [ctypes.c_uint() for _ in range(count)]
        self._call(function, *(ctypes.byref(one) for one in found))
        return [one.value for one in found]

    def _call(self, function: str, *arguments: object) -> None:
        self._nvml.call(function, self._handle, *arguments)


class Nvml:
    """The library, loaded; as a context, with the driver's attention."""

    def __init__(self, path: str = LIBRARY) -> None:
        """``NvmlMissingError`` when it cannot be loaded."""
        try:
            self._library = ctypes.CDLL(path)
        except OSError as error:
            raise NvmlMissingError(str(error)) from None

    def __enter__(self) -> Nvml:
        """``NvmlError`` when the driver does not answer, or is not the library's."""
        self.call("nvmlInit_v2")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.call("nvmlShutdown")

    def library_version(self) -> str:
        """Version of the driver that the library belongs to; it says so before it is opened, too. The version of the
        interface comes before it in what the library answers."""
        return self._text("nvmlSystemGetNVMLVersion").partition(".")[2]

    def driver_version(self) -> str:
        return self._text("nvmlSystemGetDriverVersion")

    def cuda_version(self) -> str:
        """The newest that the driver serves, such as ``12.2``."""
        version = ctypes.c_int()
        self.call("nvmlSystemGetCudaDriverVersion", ctypes.byref(version))
        # NVML_CUDA_DRIVER_VERSION_MAJOR and _MINOR of nvml.h.
        return f"{version.value // 1000}.{version.value % 1000 // 10}"

    def count(self) -> int:
        """GPUs that the driver knows."""
        count = ctypes.c_uint()
        self.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        return count.value

    def device(self, index: int) -> Device:
        handle = ctypes.c_void_p()
        self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        return Device(self, handle)

    def call(self, function: str, *arguments: object) -> None:
        """Call a function that answers with a code. One that this library does not have refuses, too."""
        try:
            found = getattr(self._library, function)
        except AttributeError:
            raise NvmlError(function, abi.FUNCTION_NOT_FOUND) from None
        if code := found(*arguments):
            raise NvmlError(function, code)

    def _text(self, function: str) -> str:
        buffer = ctypes.create_string_buffer(abi.TEXT)
        self.call(function, buffer, ctypes.c_uint(abi.TEXT))
        return buffer.value.decode()
