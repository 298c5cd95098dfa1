"""Traces of GPUs and of their driver on a machine that has neither: files in /proc, /sys and /dev, and the driver's
libraries. Nothing computes there; everything else is missing, and an error."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

from contract.nvidia import PCI_VENDOR
from lab.nvml.library import NAME
from lab.nvml.machine import DEFAULT, DRIVER, StandInMachine, gpu

MAJORS = {"nvidia": 195, "nvidia-uvm": 235}
"""Major numbers of device nodes. The first is NVIDIA's own (Linux, Documentation/admin-guide/devices.txt), the second
arbitrary."""
FOLDER = "/usr/lib/longhaul-nvml"
"""Folder of the file that describes the GPUs. The device plugin's container has the machine's /usr (machine.c)."""
_PCI = {
    "vendor": f"0x{PCI_VENDOR}",
    "class": "0x030200",
    "device": "0x2330",
    "numa_node": "-1",
    "resource": "0x0 0x0 0x0\\n" * 7,
}


def multiarch() -> str:
    """Return the name of the folder in which Debian has this architecture's libraries (wiki.debian.org/Multiarch)."""
    return f"{platform.machine()}-linux-gnu"


def files(*, gpus: int, library: Path, other: Path) -> dict[str, bytes]:
    """Return the files of a machine with healthy GPUs, by path. ``library``: the stand-in; ``other``: any library. It
    stands for CUDA's, and nobody calls it."""
    folder = f"usr/lib/{multiarch()}"
    text = StandInMachine(gpus=tuple(gpu(number) for number in range(gpus))).text()
    return {
        # The driver's packages use these names; the container toolkit looks for the driver's libraries beside NVML's.
        f"{folder}/libnvidia-ml.so.{DRIVER}": library.read_bytes(),
        f"{folder}/libcuda.so.{DRIVER}": other.read_bytes(),
        f"{FOLDER.lstrip('/')}/machine": text.encode(),
    }


def links() -> Mapping[str, str]:
    """Return the symbolic links that go with the files, each with its target."""
    return {
        f"usr/lib/{multiarch()}/{NAME}": f"libnvidia-ml.so.{DRIVER}",
        str(DEFAULT).lstrip("/"): f"{FOLDER}/machine",
    }


def script(gpus: int, *, run: str = "/run") -> str:
    """Return a shell script that does in a running machine what the driver's modules would do when they are loaded. It
    keeps a file in the folder ``run``."""
    lines = "".join(f"{number} {name}\\n" for name, number in MAJORS.items())
    pci = "/sys/bus/pci/devices"
    nodes = [(f"nvidia{number}", MAJORS["nvidia"], number) for number in range(gpus)]
    nodes += [("nvidiactl", MAJORS["nvidia"], 255), ("nvidia-uvm", MAJORS["nvidia-uvm"], 0)]
    nodes += [("nvidia-uvm-tools", MAJORS["nvidia-uvm"], 1)]
    commands = [
        f"{{ sed '/^Block/,$d' /proc/devices; printf '{lines}'; }} > {run}/devices",
        f"mount --bind {run}/devices /proc/devices",
        "mount -t tmpfs tmpfs /proc/driver && mkdir /proc/driver/nvidia",
        f"echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  of a stand-in' > /proc/driver/nvidia/version",
        f"mount -t tmpfs tmpfs {pci}",
        *(f"mknod /dev/{name} c {major} {minor}" for name, major, minor in nodes),
    ]
    for slot in (f"0000:{0x18 + number:02x}:00.0" for number in range(gpus)):
        commands += [f"mkdir {pci}/{slot}", f"head -c 64 /dev/zero > {pci}/{slot}/config"]
        commands += [f"printf '%b\\n' '{value}' > {pci}/{slot}/{name}" for name, value in _PCI.items()]
        commands += [f"ln -s /nowhere {pci}/{slot}/driver"]
    return "\n".join(commands) + "\n"
