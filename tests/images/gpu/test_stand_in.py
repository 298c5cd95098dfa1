"""Behaviour of the stand-in library that other tests rely on: errors, changes that are seen at once, Xids as events."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import pytest
from gpu import nvml_abi
from gpu.nvml import Nvml, NvmlError

from lab.nvml import library as stand_in
from lab.nvml.machine import VARIABLE, StandInMachine, gpu
from tests.images.gpu.conftest import Has

XID_EVENT = 8
"""Type of event: nvmlEventTypeXidCriticalError."""
TIMEOUT = 10


class Event(ctypes.Structure):
    """Structure ``nvmlEventData_t``."""

    _fields_ = (
        ("device", ctypes.c_void_p),
        ("type", ctypes.c_ulonglong),
        ("data", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


def test_without_a_compiler_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(stand_in.NoCompilerError, match="apt-get install gcc"):
        stand_in.build(tmp_path)


def test_nothing_is_answered_before_the_library_is_opened(library: Path, has: Has) -> None:
    has(StandInMachine())
    nvml = Nvml(str(library))
    assert nvml.library_version() == "535.309.01"
    with pytest.raises(NvmlError, match="nvmlDeviceGetCount_v2: NVML_ERROR_UNINITIALIZED"):
        nvml.count()


def test_a_function_that_it_lacks_has_a_name_too(library: Path) -> None:
    with pytest.raises(NvmlError, match="nvmlNoSuchFunction: NVML_ERROR_FUNCTION_NOT_FOUND"):
        Nvml(str(library)).call("nvmlNoSuchFunction")


def test_no_file_is_no_driver(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(NvmlError, match="DRIVER_NOT_LOADED"), Nvml(str(library)):
        pass


@pytest.mark.parametrize("line", ["gpus = 8", "init_result = no", "gpu\nlinks = 1 x", "gpu\necc", "gpu\n" * 17])
def test_a_file_with_a_mistake_is_refused(
    line: str, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "machine"
    path.write_text(line)
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(NvmlError, match="nvmlInit_v2: NVML_ERROR_UNKNOWN"), Nvml(str(library)):
        pass
    assert f"{path}:{len(line.splitlines())}: not understood" in capfd.readouterr().err


def test_what_changes_is_seen_at_once(library: Path, has: Has) -> None:
    has(StandInMachine())
    with Nvml(str(library)) as nvml:
        second = nvml.device(1)
        assert second.ecc() == (True, True)
        has(StandInMachine(gpus=(gpu(0), gpu(1, ecc=0))))
        assert second.ecc() == (False, False)
        has(StandInMachine(gpus=(gpu(0),)))
        assert nvml.count() == 1
        with pytest.raises(NvmlError) as raised:
            second.ecc()
        assert raised.value.code == nvml_abi.GPU_IS_LOST


def test_a_gpu_is_found_by_its_names(library: Path, has: Has) -> None:
    has(StandInMachine())
    with Nvml(str(library)) as nvml:
        for function, name in (
            ("nvmlDeviceGetHandleByUUID", gpu(1).uuid),
            ("nvmlDeviceGetHandleByPciBusId_v2", "0000:19:00.0"),
        ):
            handle, index = ctypes.c_void_p(), ctypes.c_uint()
            nvml.call(function, name.encode(), ctypes.byref(handle))
            nvml.call("nvmlDeviceGetIndex", handle, ctypes.byref(index))
            assert index.value == 1
            with pytest.raises(NvmlError, match="NOT_FOUND"):
                nvml.call(function, b"0000:77:00.0", ctypes.byref(handle))


def test_a_new_xid_is_an_event(library: Path, has: Has) -> None:
    has(StandInMachine())
    with Nvml(str(library)) as nvml:
        events, first, event = ctypes.c_void_p(), ctypes.c_void_p(), Event()
        nvml.call("nvmlEventSetCreate", ctypes.byref(events))
        nvml.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(0), ctypes.byref(first))
        nvml.call("nvmlDeviceRegisterEvents", first, ctypes.c_ulonglong(XID_EVENT), events)
        with pytest.raises(NvmlError) as raised:
            nvml.call("nvmlEventSetWait_v2", events, ctypes.byref(event), ctypes.c_uint(0))
        assert raised.value.code == TIMEOUT
        has(StandInMachine(gpus=(gpu(0, xid=79), gpu(1, xid=48))))
        nvml.call("nvmlEventSetWait_v2", events, ctypes.byref(event), ctypes.c_uint(5000))
        assert (event.device, event.type, event.data) == (first.value, XID_EVENT, 79)
        nvml.call("nvmlEventSetFree", events)
