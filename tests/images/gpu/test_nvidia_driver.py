"""Checks that the kernel's module, the kernel and the libraries belong together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from gpu import nvidia_driver
from gpu.checks import CANNOT_LOOK, HEALTHY
from gpu.findings import Code, LookError
from gpu.nvidia_driver import Driver, DriverPaths, Module

from lab.nvml.machine import DRIVER, MISMATCH, StandInMachine
from tests.images.gpu.conftest import KERNEL, RUNNING, Preflight
from tests.support.programs import write_program

MODINFO = f"""\
filename:       /lib/modules/{KERNEL}/updates/dkms/nvidia-current.ko
alias:          char-major-195-*
version:        {DRIVER}
supported:      external
depends:        drm
name:           nvidia
vermagic:       {KERNEL} SMP preempt mod_unload modversions
parm:           NVreg_ResmanDebugLevel:int
"""
PROPRIETARY = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  Mon Feb 10 10:00:00 UTC 2025\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22)\n"


def only(installed: str) -> Callable[[str, str], str]:
    """Return a modinfo that knows one name only."""
    return lambda name, kernel: MODINFO if (name, kernel) == (installed, KERNEL) else ""


@pytest.fixture(name="paths")
def _paths(tmp_path: Path) -> DriverPaths:
    return DriverPaths(version=tmp_path / "version", modules=tmp_path / "module", kernels=tmp_path / "kernels")


@pytest.mark.parametrize("name", ["nvidia", "nvidia-current"])
def test_what_runs_and_what_is_installed(name: str, paths: DriverPaths) -> None:
    paths.version.write_text(PROPRIETARY + "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n")
    assert nvidia_driver.read(paths, kernel=KERNEL, ask=only(name)) == RUNNING


def test_the_open_modules_version_is_read(paths: DriverPaths) -> None:
    paths.version.write_text(OPEN)
    assert nvidia_driver.read(paths, kernel=KERNEL, ask=only("")).loaded == "580.65.06"


def test_the_version_below_sys_is_as_good(paths: DriverPaths) -> None:
    (paths.modules / "nvidia").mkdir(parents=True)
    assert nvidia_driver.read(paths, kernel=KERNEL, ask=only("")).loaded == nvidia_driver.UNKNOWN
    (paths.modules / "nvidia" / "version").write_text(f"{DRIVER}\n")
    assert nvidia_driver.read(paths, kernel=KERNEL, ask=only("")).loaded == DRIVER


def test_modules_of_other_kernels_are_seen(paths: DriverPaths) -> None:
    for path in (
        "6.1.0-43-cloud-amd64/updates/dkms/nvidia-current.ko",
        "6.1.0-43-cloud-amd64/updates/dkms/nvidia-current-drm.ko",
        "6.8.0-60-generic/kernel/nvidia-535/nvidia.ko.zst",
        "6.1.0-42-amd64/updates/dkms/nvidia-fs.ko",
        f"{KERNEL}/updates/dkms/other.ko",
    ):
        (paths.kernels / path).parent.mkdir(parents=True, exist_ok=True)
        (paths.kernels / path).touch()
    (paths.modules / "nouveau").mkdir(parents=True)
    found = nvidia_driver.read(paths, kernel=KERNEL, ask=only(""))
    assert found == Driver(kernel=KERNEL, elsewhere=("6.1.0-43-cloud-amd64", "6.8.0-60-generic"), nouveau=True)


def test_modinfo_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LookError, match="kmod"):
        nvidia_driver.modinfo("nvidia", KERNEL)


def test_modinfo_is_asked_for_the_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_program(tmp_path / "modinfo", '#!/bin/sh\n[ "$*" = "-k 6.1 nvidia-current" ] && echo "vermagic: 6.1 SMP"\n')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert nvidia_driver.modinfo("nvidia-current", "6.1") == "vermagic: 6.1 SMP\n"
    assert nvidia_driver.modinfo("nvidia", "6.1") == ""


NEWER = Module(version="550.163.01", kernel=KERNEL)
OTHER = Module(version=DRIVER, kernel="6.1.0-43-cloud-amd64")


@pytest.mark.parametrize(
    ("state", "library", "code", "says"),
    [
        (replace(RUNNING, installed=NEWER), DRIVER, Code.DRIVER_MISMATCH, "550.163.01 is installed: reboot"),
        (RUNNING, "550.163.01", Code.DRIVER_MISMATCH, "the libraries are of 550.163.01"),
        (replace(RUNNING, loaded=""), DRIVER, Code.DRIVER_NOT_LOADED, "modprobe nvidia"),
        (Driver(kernel=KERNEL, installed=OTHER), DRIVER, Code.DRIVER_NOT_FOR_KERNEL, f"the kernel is {KERNEL}"),
        (Driver(kernel=KERNEL), "", Code.DRIVER_NOT_FOR_KERNEL, f"running kernel {KERNEL}: install"),
        (Driver(kernel=KERNEL, elsewhere=("a", "b")), "", Code.DRIVER_NOT_FOR_KERNEL, "only for a, b:"),
    ],
)
def test_what_does_not_belong_together_is_found(state: Driver, library: str, code: Code, says: str) -> None:
    (finding,) = nvidia_driver.findings(state, library=library)
    assert finding.code is code
    assert says in finding.message


def test_nouveau_is_named_as_the_reason() -> None:
    (finding,) = nvidia_driver.findings(replace(RUNNING, loaded="", nouveau=True), library=DRIVER)
    assert finding.code is Code.NOUVEAU_LOADED


@pytest.mark.parametrize("library", [DRIVER, "535.309", ""])
def test_what_belongs_together(library: str) -> None:
    assert nvidia_driver.findings(RUNNING, library=library) == []
    assert nvidia_driver.findings(replace(RUNNING, installed=None), library=library) == []
    assert nvidia_driver.findings(replace(RUNNING, loaded=nvidia_driver.UNKNOWN), library=library) == []


def test_a_version_is_no_prefix_of_digits() -> None:
    assert not nvidia_driver.agree("535.30", DRIVER)


def test_a_library_of_another_version_is_found_once(preflight: Preflight) -> None:
    """The library gives its version, and also the error that it does not open: one finding covers both."""
    machine = StandInMachine(nvml_version="12.550.163.01", init_result=MISMATCH)
    (finding,) = preflight(machine).findings
    assert finding.code is Code.DRIVER_MISMATCH
    assert "550.163.01" in finding.message
    assert DRIVER in finding.message


def test_a_library_that_does_not_open_is_a_mismatch_too(preflight: Preflight) -> None:
    (finding,) = preflight(StandInMachine(init_result=MISMATCH)).findings
    assert finding.code is Code.DRIVER_MISMATCH
    assert "NVML_ERROR_LIB_RM_VERSION_MISMATCH" in finding.message


@pytest.mark.parametrize("state", [Driver(kernel=KERNEL), replace(RUNNING, loaded="", nouveau=True)])
def test_why_the_library_does_not_open_is_said_once(state: Driver, preflight: Preflight) -> None:
    report = preflight(StandInMachine(init_result=9), driver=lambda: state)
    assert [finding.code for finding in report.findings] == [nvidia_driver.findings(state, library="")[0].code]


def test_a_driver_that_runs_and_does_not_answer(preflight: Preflight) -> None:
    (finding,) = preflight(StandInMachine(init_result=9)).findings
    assert (finding.code, "/dev/nvidiactl" in finding.message) == (Code.DRIVER_NOT_LOADED, True)


def test_any_other_refusal_has_its_name(preflight: Preflight) -> None:
    (finding,) = preflight(StandInMachine(init_result=4)).findings
    assert str(finding).startswith("NvmlFailed: nvmlInit_v2: NVML_ERROR_NO_PERMISSION")


def test_what_cannot_be_looked_at_is_not_well(preflight: Preflight) -> None:
    def fail() -> Driver:
        raise LookError("modinfo: no such program")

    report = preflight(driver=fail)
    assert (report.findings, report.unseen) == ((), ("modinfo: no such program",))
    assert (report.exit_code, preflight().exit_code) == (CANNOT_LOOK, HEALTHY)
