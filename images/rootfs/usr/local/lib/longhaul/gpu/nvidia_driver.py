"""Kernel side of NVIDIA's driver: the loaded module, the installed module, and the kernel for which it was built."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gpu.findings import Code, GpuFinding, LookError

MODULES = ("nvidia", "nvidia-current")
"""Names of the module: nvidia in NVIDIA's and Ubuntu's packages, nvidia-current in Debian's."""

_VERSION = re.compile(r"Kernel Module\D.*?\s(\d+\.\d+(?:\.\d+)*)\s")
"""Pattern of the version in /proc/driver/nvidia/version: «NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.309.01
…», or with the open modules «NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build …»."""

UNKNOWN = "unknown"
"""Version of a loaded module that does not report its version."""


@dataclass(frozen=True, kw_only=True)
class Module:
    """An installed kernel module."""

    version: str
    kernel: str
    """Release of the kernel that the module was built for."""


@dataclass(frozen=True, kw_only=True)
class Driver:
    """State of NVIDIA's driver in the kernel."""

    kernel: str
    """Release of the running kernel."""
    loaded: str = ""
    """Version of the loaded module, or :data:`UNKNOWN`; empty if no module is loaded."""
    installed: Module | None = None
    """Module that is installed for the running kernel."""
    elsewhere: tuple[str, ...] = ()
    """Releases of the other kernels that have a module."""
    nouveau: bool = False
    """True if nouveau, the kernel's own driver, is loaded."""


@dataclass(frozen=True, kw_only=True)
class DriverPaths:
    """Files and folders with the state of the kernel's modules."""

    version: Path = Path("/proc/driver/nvidia/version")
    modules: Path = Path("/sys/module")
    """Folder with one folder for each loaded module, which contains a file ``version`` if the module has a version."""
    kernels: Path = Path("/lib/modules")


def modinfo(name: str, kernel: str) -> str:
    """Return modinfo's output for a module; empty if the kernel has no such module. Raise ``LookError`` if modinfo
    cannot be run."""
    try:
        done = subprocess.run(["modinfo", "-k", kernel, name], capture_output=True, text=True, check=False)
    except OSError as error:
        raise LookError(f"modinfo: {error.strerror}: which module is installed is not known (package kmod)") from None
    return done.stdout if done.returncode == 0 else ""


def read(paths: DriverPaths | None = None, *, kernel: str = "", ask: Callable[[str, str], str] = modinfo) -> Driver:
    """Read the driver's state on this machine. Raise ``LookError`` if modinfo cannot be run."""
    paths = paths or DriverPaths()
    kernel = kernel or os.uname().release
    modules = (parse(ask(name, kernel)) for name in MODULES)
    return Driver(
        kernel=kernel,
        loaded=_loaded(paths),
        installed=next((module for module in modules if module is not None), None),
        elsewhere=tuple(sorted(set(_elsewhere(paths.kernels, kernel)))),
        nouveau=(paths.modules / "nouveau").is_dir(),
    )


def parse(text: str) -> Module | None:
    """Parse modinfo's output. The first word of ``vermagic`` is the kernel's release."""
    facts = {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    vermagic = facts.get("vermagic", "").split()
    return Module(version=facts.get("version", ""), kernel=vermagic[0]) if vermagic else None


def _loaded(paths: DriverPaths) -> str:
    try:
        match = _VERSION.search(paths.version.read_text() + "\n")
    except FileNotFoundError:
        match = None
    if match is not None:
        return match.group(1)
    module = paths.modules / "nvidia"
    try:
        return (module / "version").read_text().strip()
    except FileNotFoundError:
        return UNKNOWN if module.is_dir() or paths.version.exists() else ""


def _elsewhere(kernels: Path, running: str) -> Iterable[str]:
    """Yield the releases of the other kernels that have a module. DKMS puts the module into updates/dkms, precompiled
    packages put it below kernel."""
    for pattern in ("updates/dkms", "kernel/nvidia*"):
        for path in kernels.glob(f"*/{pattern}/nvidia*.ko*"):
            release = path.relative_to(kernels).parts[0]
            if release != running and path.name.partition(".")[0] in MODULES:
                yield release


def findings(driver: Driver, *, library: str) -> list[GpuFinding]:
    """Return the driver's problems. ``library`` is the version of the user-space libraries, or empty if it is
    unknown."""
    return list(_running(driver, library) if driver.loaded else _not_running(driver))


def _running(driver: Driver, library: str) -> Iterable[GpuFinding]:
    installed = driver.installed
    if installed is not None and installed.version and not agree(installed.version, driver.loaded):
        message = f"the kernel runs {driver.loaded}, {installed.version} is installed: reboot"
        yield GpuFinding(code=Code.DRIVER_MISMATCH, message=message)
    if library and not agree(library, driver.loaded):
        message = (
            f"the kernel runs {driver.loaded}, the libraries are of {library}: install both of one version, then reboot"
        )
        yield GpuFinding(code=Code.DRIVER_MISMATCH, message=message)


def agree(library: str, module: str) -> bool:
    """Return whether both are the same version, or the module's version is unknown. Some libraries leave out the last
    number."""
    return module in (library, UNKNOWN) or module.startswith(f"{library}.")


def _not_running(driver: Driver) -> Iterable[GpuFinding]:
    if driver.nouveau:
        message = "nouveau has the GPUs, so NVIDIA's driver cannot: blacklist it, rebuild the initramfs, reboot"
        yield GpuFinding(code=Code.NOUVEAU_LOADED, message=message)
    installed = driver.installed
    if installed is None:
        others = f", only for {', '.join(driver.elsewhere)}" if driver.elsewhere else ""
        message = (
            f"no NVIDIA module is installed for the running kernel {driver.kernel}{others}: install its headers and "
            f"build it (dkms autoinstall -k {driver.kernel}), or boot the kernel that the image pins"
        )
        yield GpuFinding(code=Code.DRIVER_NOT_FOR_KERNEL, message=message)
    elif installed.kernel != driver.kernel:
        message = f"the NVIDIA module was built for {installed.kernel}, the kernel is {driver.kernel}: build it anew"
        yield GpuFinding(code=Code.DRIVER_NOT_FOR_KERNEL, message=message)
    elif not driver.nouveau:
        message = f"module {installed.version} is installed and not loaded: modprobe nvidia, and see the kernel log"
        yield GpuFinding(code=Code.DRIVER_NOT_LOADED, message=message)
