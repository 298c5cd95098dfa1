"""NVIDIA's driver as ``images/image.toml`` has it: the branch of each system, and what its archives call the parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul.depot.contents import reading
from longhaul.toolchain.errors import SetupError

OPEN, PROPRIETARY = "open", "proprietary"
KINDS = (OPEN, PROPRIETARY)
"""Of kernel modules: from Turing on, and up to Hopper (role nvidia_driver)."""

_ASKED = re.compile(r"(?P<suite>[a-z][a-z0-9-]*)=(?P<kernel>[0-9][A-Za-z0-9.+~-]*)(=(?P<kind>open|proprietary))?")


@dataclass(frozen=True, kw_only=True)
class Driver:
    """Of one system."""

    suite: str
    """Its release in archives, as in ``bookworm``."""
    branch: str
    modules: Mapping[str, tuple[str, ...]]
    """Packages by kind; none of a kind that the archives do not have."""
    libraries: tuple[str, ...]
    headers: str
    """``{kernel}`` stands for a release of the kernel."""

    def packages(self, kernel: str, kind: str = "") -> tuple[str, ...]:
        """All that role nvidia_driver installs for a kernel; of the open modules where there are any, unless a kind is
        named. Not the fabric manager, which machines with NVSwitches want. Raises :class:`SetupError`."""
        wanted = kind or next(name for name in KINDS if self.modules[name])
        if not self.modules[wanted]:
            raise SetupError(
                f"{self.suite} has no {wanted} modules of branch {self.branch} (images/image.toml, [nvidia])"
            )
        return (self.headers.format(kernel=kernel), *self.modules[wanted], *self.libraries)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A driver that a depot is to have."""

    suite: str
    kernel: str
    """A release, as ``uname -r`` says it."""
    kind: str
    """Empty for whichever there is."""


def parse_asked(text: str) -> Asked:
    """``SUITE=KERNEL`` or ``SUITE=KERNEL=KIND``; raises ValueError for anything else."""
    match = _ASKED.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r}: write SUITE=KERNEL, the kernel as `uname -r` says it, or SUITE=KERNEL=KIND ({', '.join(KINDS)})"
        )
    return Asked(suite=match["suite"], kernel=match["kernel"], kind=match["kind"] or "")


def drivers(root: Path | None = None) -> dict[str, Driver]:
    """By system, as in ``debian-12``. Raises :class:`SetupError`."""
    with reading(root) as raw:
        return {system: _driver(pin) for system, pin in raw["nvidia"].items()}


def driver_packages(asked: Asked, known: Mapping[str, Driver]) -> list[tuple[str, str]]:
    """Each package with its suite. Raises :class:`SetupError`."""
    found = [driver for driver in known.values() if driver.suite == asked.suite]
    if not found:
        suites = ", ".join(driver.suite for driver in known.values())
        raise SetupError(f"no branch of NVIDIA's driver is pinned for {asked.suite} (images/image.toml has {suites})")
    return [(asked.suite, name) for driver in found for name in driver.packages(asked.kernel, asked.kind)]


def _driver(pin: Mapping[str, Any]) -> Driver:
    return Driver(
        suite=pin["suite"],
        branch=pin["branch"],
        modules={kind: tuple(pin[kind]) for kind in KINDS},
        libraries=tuple(pin["libraries"]),
        headers=pin["headers"],
    )
