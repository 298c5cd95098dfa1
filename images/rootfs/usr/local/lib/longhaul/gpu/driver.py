"""The kernel's side of the driver: which module runs, which is installed, and for which kernel."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gpu.findings import Code, Finding, LookError

MODULES = ("nvidia", "nvidia-current")
"""What the module's file is called: NVIDIA's own packages and Ubuntu's say nvidia, Debian's nvidia-current."""

_VERSION = re.compile(r"Kernel Module\D.*?\s(\d+\.\d+(?:\.\d+)*)\s")
"""In /proc/driver/nvidia/version: «NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.309.01  …», and for the open
modules «NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build …»."""

UNKNOWN = "unknown"
"""Version of a module that runs and does not say it."""


@dataclass(frozen=True, kw_only=True)
class Module:
    """An installed module."""

    version: str
    kernel: str
    """Release of the kernel that it was built for."""


@dataclass(frozen=True, kw_only=True)
class Driver:
    """What the kernel has of NVIDIA."""

    kernel: str
    """Release that runs."""
    loaded: str = ""
    """Version of the module that runs, or :data:`UNKNOWN`; empty for none."""
    installed: Module | None = None
    """What would be loaded for this kernel."""
    elsewhere: tuple[str, ...] = ()
    """Other kernels that have a module."""
    nouveau: bool = False
    """Whether the kernel's own driver has the GPUs."""


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Where the kernel says it."""

    version: Path = Path("/proc/driver/nvidia/version")
    modules: Path = Path("/sys/module")
    """One folder for each loaded module; ``version`` in it, where the module has one."""
    kernels: Path = Path("/lib/modules")


def modinfo(name: str, kernel: str) -> str:
    """What modinfo says of a module; empty when the kernel has none. ``LookError`` when it cannot be asked."""
    try:
        done = subprocess.run(["modinfo", "-k", kernel, name], capture_output=True, text=True, check=False)
    except OSError as error:
        raise LookError(f"modinfo: {error.strerror}: which module is installed is not known (package kmod)") from None
    return done.stdout if done.returncode == 0 else ""


def read(paths: Paths | None = None, *, kernel: str = "", ask: Callable[[str, str], str] = modinfo) -> Driver:
    """Look at this machine; ``LookError`` when something cannot be looked at."""
    paths = paths or Paths()
    kernel = kernel or os.uname().release
    said = (parse(ask(name, kernel)) for name in MODULES)
    return Driver(
        kernel=kernel,
        loaded=_loaded(paths),
        installed=next((module for module in said if module is not None), None),
        elsewhere=tuple(sorted(set(_elsewhere(paths.kernels, kernel)))),
        nouveau=(paths.modules / "nouveau").is_dir(),
    )


def parse(text: str) -> Module | None:
    """A module from modinfo's words. The first one of ``vermagic`` is the kernel's release."""
    facts = {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}
    vermagic = facts.get("vermagic", "").split()
    return Module(version=facts.get("version", ""), kernel=vermagic[0]) if vermagic else None


def _loaded(paths: Paths) -> str:
    try:
        found = _VERSION.search(paths.version.read_text() + "\n")
    except FileNotFoundError:
        found = None
    if found is not None:
        return found.group(1)
    module = paths.modules / "nvidia"
    try:
        return (module / "version").read_text().strip()
    except FileNotFoundError:
        return UNKNOWN if module.is_dir() or paths.version.exists() else ""


def _elsewhere(kernels: Path, running: str) -> Iterable[str]:
    """Kernels with a module of ours: DKMS puts it into updates/dkms, precompiled packages below kernel."""
    for pattern in ("updates/dkms", "kernel/nvidia*"):
        for path in kernels.glob(f"*/{pattern}/nvidia*.ko*"):
            release = path.relative_to(kernels).parts[0]
            if release != running and path.name.partition(".")[0] in MODULES:
                yield release


def findings(driver: Driver, *, library: str) -> list[Finding]:
    """What is wrong. ``library``: version that the user's side belongs to; empty when it is not known."""
    return list(_running(driver, library) if driver.loaded else _not_running(driver))


def _running(driver: Driver, library: str) -> Iterable[Finding]:
    installed = driver.installed
    if installed is not None and installed.version and not agree(installed.version, driver.loaded):
        message = f"the kernel runs {driver.loaded}, {installed.version} is installed: reboot"
        yield Finding(code=Code.DRIVER_MISMATCH, message=message)
    if library and not agree(library, driver.loaded):
        message = (
            f"the kernel runs {driver.loaded}, the libraries are of {library}: install both of one version, then reboot"
        )
        yield Finding(code=Code.DRIVER_MISMATCH, message=message)


def agree(library: str, module: str) -> bool:
    """Whether both are of one version. Some libraries leave the last number out."""
    return module in (library, UNKNOWN) or module.startswith(f"{library}.")


def _not_running(driver: Driver) -> Iterable[Finding]:
    if driver.nouveau:
        message = "nouveau has the GPUs, so NVIDIA's driver cannot: blacklist it, rebuild the initramfs, reboot"
        yield Finding(code=Code.NOUVEAU_LOADED, message=message)
    installed = driver.installed
    if installed is None:
        others = f", only for {', '.join(driver.elsewhere)}" if driver.elsewhere else ""
        message = (
            f"no NVIDIA module is installed for the running kernel {driver.kernel}{others}: install its headers and "
            f"build it (dkms autoinstall -k {driver.kernel}), or boot the kernel that the image pins"
        )
        yield Finding(code=Code.DRIVER_NOT_FOR_KERNEL, message=message)
    elif installed.kernel != driver.kernel:
        message = f"the NVIDIA module was built for {installed.kernel}, the kernel is {driver.kernel}: build it anew"
        yield Finding(code=Code.DRIVER_NOT_FOR_KERNEL, message=message)
    elif not driver.nouveau:
        message = f"module {installed.version} is installed and not loaded: modprobe nvidia, and see the kernel log"
        yield Finding(code=Code.DRIVER_NOT_LOADED, message=message)
