"""A stand-in for NVIDIA's driver in a test's machine: its library (tests/support/nvml), and what its modules would show
in /proc, /sys and /dev. Nothing computes there; everything else is missing, and an error."""

from __future__ import annotations

from pathlib import Path

from longhaul.toolchain.process import output_of
from tests.support.nspawn_machine import NspawnMachine
from tests.support.nvml.library import build
from tests.support.nvml.machine import DEFAULT, DRIVER, Machine

MAJORS = {"nvidia": 195, "nvidia-uvm": 235}
"""Major numbers of device nodes. The first is NVIDIA's own (Linux, Documentation/admin-guide/devices.txt), the second
arbitrary."""
NODES = ("nvidia0 195 0", "nvidia1 195 1", "nvidiactl 195 255", "nvidia-uvm 235 0", "nvidia-uvm-tools 235 1")
_PCI = {"vendor": "0x10de", "class": "0x030200", "device": "0x2330", "numa_node": "-1", "resource": "0x0 0x0 0x0\n" * 7}


def install(root: Path) -> None:
    """Put the libraries into a system that does not run; raises ``NoCompilerError`` without gcc."""
    folder = root / "usr/lib" / output_of(["gcc", "-print-multiarch"]).strip()
    # The driver's packages use this name; the container toolkit looks for the driver's other libraries beside it.
    build(folder).rename(folder / f"libnvidia-ml.so.{DRIVER}")
    (folder / "libnvidia-ml.so.1").symlink_to(f"libnvidia-ml.so.{DRIVER}")
    (root / str(DEFAULT).lstrip("/")).write_text(Machine().text(), encoding="utf-8")


def load(machine: NspawnMachine) -> None:
    """Do in a running machine what loading the modules would do, with two GPUs."""
    lines = "".join(f"{number} {name}\\n" for name, number in MAJORS.items())
    pci = "/sys/bus/pci/devices"
    script = [
        "set -e",
        f"{{ sed '/^Block/,$d' /proc/devices; printf '{lines}'; }} > /run/devices",
        "mount --bind /run/devices /proc/devices",
        "mount -t tmpfs tmpfs /proc/driver && mkdir /proc/driver/nvidia",
        f"echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  {DRIVER}  of a test' > /proc/driver/nvidia/version",
        f"mount -t tmpfs tmpfs {pci}",
        *(f"mknod /dev/{name} c {major} {minor}" for name, major, minor in (node.split() for node in NODES)),
    ]
    for slot in ("0000:18:00.0", "0000:19:00.0"):
        script += [f"mkdir {pci}/{slot}", f"head -c 64 /dev/zero > {pci}/{slot}/config"]
        script += [f"printf '%s\\n' '{value}' > {pci}/{slot}/{name}" for name, value in _PCI.items()]
        script += [f"ln -s /nowhere {pci}/{slot}/driver"]
    machine.run("\n".join(script))
