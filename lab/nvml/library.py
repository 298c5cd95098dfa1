"""Builds the stand-in for NVIDIA's management library, with the name that a driver's packages use."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from lab import packages
from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder

SOURCES = Path(__file__).parent
NAME = "libnvidia-ml.so.1"

FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", "-fvisibility=hidden")


class NoCompilerError(Exception):
    """gcc, which builds it, is missing."""


def build(folder: Path) -> Path:
    """Compile the library into ``folder`` and return its path. ``NoCompilerError`` where gcc is missing; when gcc
    fails, its messages are on standard error."""
    gcc = shutil.which("gcc")
    if gcc is None:
        raise NoCompilerError("gcc is missing, which the NVML stand-in of the tests is built with: apt-get install gcc")
    target = folder / NAME
    sources = sorted(str(path) for path in SOURCES.glob("*.c"))
    command = [gcc, *FLAGS, f"-Wl,-soname,{NAME}", "-o", str(target), *sources, "-lpthread"]
    subprocess.run(command, check=True)
    return target


def ensure(*, log_dir: Path, progress: Progress) -> Path:
    """Return the library's path; build it, and install a compiler, unless it is there. Raise ``SetupError`` without
    a compiler."""
    sources = sorted(SOURCES.glob("*.[ch]"))
    place = cache_root() / "nvml" / digest(*(path.read_bytes() for path in sources))

    def make(into: Path) -> None:
        packages.ensure(packages.C, log_dir=log_dir, progress=progress)
        progress("building the stand-in for NVIDIA's library")
        build(into)

    place.parent.mkdir(parents=True, exist_ok=True)
    ensure_folder(place, make, what="the stand-in for NVIDIA's library", progress=progress)
    return place / NAME
