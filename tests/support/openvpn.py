"""OpenVPN as Debian has it, without its installation: packages that are unpacked into the cache."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longhaul.toolchain.cache import cache_root, locked

PACKAGES = ("openvpn", "libcap-ng0", "liblzo2-2", "libnl-3-200", "libnl-genl-3-200", "libpkcs11-helper1")


@dataclass(frozen=True, kw_only=True)
class Program:
    """The program, and the variables that it needs to find its libraries."""

    path: Path
    variables: Mapping[str, str]


def program() -> Program:
    """Return OpenVPN, fetched by apt if it is not there yet."""
    root = cache_root() / "openvpn-of-tests"
    found = root / "usr/sbin/openvpn"
    with locked(cache_root() / "openvpn-of-tests.lock", waiting=lambda: None):
        if not found.exists():
            packages = root / "packages"
            packages.mkdir(parents=True, exist_ok=True)
            subprocess.run(["apt-get", "download", *PACKAGES], cwd=packages, check=True, capture_output=True)
            for package in packages.glob("*.deb"):
                subprocess.run(["dpkg-deb", "--extract", package, root], check=True, capture_output=True)
    triplet = f"{platform.machine()}-linux-gnu"
    libraries = f"{root}/usr/lib/{triplet}:{root}/lib/{triplet}"
    return Program(path=found, variables={**os.environ, "LD_LIBRARY_PATH": libraries})
