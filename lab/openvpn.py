"""The program ``openvpn`` of the lab's laptop, unpacked from Debian's package. An installation of the package would
bring services to the host."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab import unpacked_programs
from longhaul.toolchain.cache import Progress, cache_root


def folder() -> Path:
    """Return the folder with the program, unpacked."""
    return cache_root() / "openvpn" / "bin"


def ensure(*, log_dir: Path, progress: Progress) -> Path:
    """Return the folder with the program: the host's folder if the host has the program, else the unpacked package's.
    Raise ``SetupError`` without apt, or when the package is not available."""
    program = shutil.which("openvpn", path="/usr/sbin:/usr/bin:/sbin:/usr/local/sbin")
    if program is not None:
        return Path(program).parent
    place = folder().parent
    return unpacked_programs.ensure(place, ["openvpn"], program="usr/sbin/openvpn", log_dir=log_dir, progress=progress)
