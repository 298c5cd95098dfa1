"""A stand-in for NVIDIA's driver in a test's machine: its library (lab/nvml), and what its modules would show
in /proc, /sys and /dev. Nothing computes there; everything else is missing, and an error."""

from __future__ import annotations

from pathlib import Path

from lab.nvml import hardware
from lab.nvml.library import build
from lab.nvml.machine import DEFAULT, DRIVER, StandInMachine
from longhaul.toolchain.process import output_of
from tests.support.nspawn_machine import NspawnMachine


def install(root: Path) -> None:
    """Put the libraries into a system that does not run; raises ``NoCompilerError`` without gcc."""
    folder = root / "usr/lib" / output_of(["gcc", "-print-multiarch"]).strip()
    # The driver's packages use this name; the container toolkit looks for the driver's other libraries beside it.
    build(folder).rename(folder / f"libnvidia-ml.so.{DRIVER}")
    (folder / "libnvidia-ml.so.1").symlink_to(f"libnvidia-ml.so.{DRIVER}")
    (root / str(DEFAULT).lstrip("/")).write_text(StandInMachine().text(), encoding="utf-8")


def load(machine: NspawnMachine) -> None:
    """Do in a running machine what loading the modules would do, with two GPUs."""
    machine.run(f"set -e\n{hardware.script(2)}")
