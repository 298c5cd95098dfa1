"""Print a machine's NVIDIA packages, devices and modules, and its kernels, as JSON. Change nothing.

The program runs on machines as root, also for a system that is not running (an image that is being made), and needs
only Python's standard library. Argument: the root of the system, / by default.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VENDOR = "0x10de"
"""Vendor id of NVIDIA, in the form of /sys."""
GPU_CLASSES = ("0x030000", "0x030200")
"""PCI classes of GPUs: VGA controllers and 3D controllers (go-nvlib, pkg/nvpci)."""
SWITCH_CLASS = "0x068000"
"""PCI class of NVSwitches (go-nvlib, pkg/nvpci). Switches of the fourth generation (B200) do not have this class."""
MODULES = ("nvidia", "nvidia-current")
"""Names of the module: nvidia in NVIDIA's and Ubuntu's packages, nvidia-current in Debian's."""
WORK = "/dev/nvidia-uvm"
"""Device that a program has open while it computes on a GPU. Programs that only read a GPU's state (nvidia-smi, the
device plugin, exporters) do not open this device."""
SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
"""EFI variable with four bytes of attributes, then 1 if Secure Boot is on (UEFI specification, "Globally Defined
Variables")."""
PACKAGES = re.compile(r"(lib)?(nvidia|cuda)[-0-9].*|firmware-nvidia.*|linux-(image|headers|modules)-.*|linux-generic.*")
DONE = ("installed", "config-files", "not-installed")
"""States of a package that dpkg has finished."""


def look(root: Path) -> dict[str, Any]:
    """Return the machine's packages, devices, modules and kernels as plain values."""
    packages = list(_packages(root))
    kernels = sorted(_kernels(root), key=_version_key)
    return {
        "system": _system(root),
        "gpus": sorted(_devices(root, *GPU_CLASSES)),
        "switches": len(list(_devices(root, SWITCH_CLASS))),
        "kernels": kernels,
        "running": os.uname().release,
        "booted": (root / "run/systemd/system").is_dir(),
        "modules": {kernel: version for kernel in _trees(root) if (version := _module(kernel))},
        "headers": [kernel for kernel in _trees(root) if (root / "lib/modules" / kernel / "build").exists()],
        "loaded": _loaded(root),
        "nouveau": (root / "sys/module/nouveau").is_dir(),
        "secure_boot": _secure_boot(root),
        "users": list(_users(root)),
        "packages": {name: version for name, version, _, state in packages if state == "installed" and _ours(name)},
        "held": [name for name, _, wanted, _ in packages if wanted == "hold" and _ours(name)],
        "unfinished": [name for name, _, _, state in packages if state not in DONE],
    }


def _system(root: Path) -> str:
    """Return the operating system's name, such as ``debian-12``."""
    fields = dict(line.split("=", 1) for line in (root / "etc/os-release").read_text().splitlines() if "=" in line)
    return "-".join(fields.get(name, "").strip('"') for name in ("ID", "VERSION_ID"))


def _devices(root: Path, *classes: str) -> Iterator[str]:
    """Yield the device id, such as ``2330``, of each NVIDIA device of these classes on the PCI bus."""
    for device in (root / "sys/bus/pci/devices").glob("*"):
        vendor, kind, number = (_text(device / name) for name in ("vendor", "class", "device"))
        if vendor == VENDOR and kind in classes:
            yield number.removeprefix("0x").upper()


def _kernels(root: Path) -> Iterator[str]:
    """Yield the kernel releases that can be booted, which have a file for the boot loader and modules."""
    for path in (root / "boot").glob("vmlinuz-*"):
        release = path.name.removeprefix("vmlinuz-")
        if (root / "lib/modules" / release).is_dir():
            yield release


def _version_key(release: str) -> list[tuple[int, str]]:
    """Return a sort key that compares the numbers in a release by value, as boot loaders do."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", release)]


def _trees(root: Path) -> list[str]:
    folder = root / "lib/modules"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _module(kernel: str) -> str:
    """Return the version of the module that the kernel would load; empty without a module."""
    for name in MODULES:
        argv = ["modinfo", "-k", kernel, "-F", "version", name]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    return ""


def _loaded(root: Path) -> str:
    """Return the version of the loaded module; empty if no module is loaded."""
    match = re.search(r"Kernel Module\D.*?\s(\d+(?:\.\d+)+)\s", _text(root / "proc/driver/nvidia/version") + "\n")
    return match[1] if match else _text(root / "sys/module/nvidia/version")


def _secure_boot(root: Path) -> bool:
    try:
        return (root / SECURE_BOOT).read_bytes()[-1:] == b"\x01"
    except OSError:
        return False


def _users(root: Path) -> Iterator[str]:
    """Yield the processes that compute on a GPU, such as ``python3 (4711)``."""
    for process in (root / "proc").glob("[0-9]*"):
        try:
            opened = {os.readlink(entry) for entry in (process / "fd").iterdir()}
        except OSError:
            continue  # it ended meanwhile
        if WORK in opened:
            yield f"{_text(process / 'comm')} ({process.name})"


def _packages(root: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, version, wanted state and present state of each package that dpkg knows."""
    shown = r"${Package}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\n"
    argv = ["dpkg-query", f"--admindir={root / 'var/lib/dpkg'}", "--show", f"--showformat={shown}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        name, version, wanted, state = line.split("\t")
        yield name, version, wanted, state


def _ours(name: str) -> bool:
    return PACKAGES.fullmatch(name) is not None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


if __name__ == "__main__":
    print(json.dumps(look(Path(sys.argv[1] if len(sys.argv) > 1 else "/"))))
