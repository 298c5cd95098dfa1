"""NVIDIA's driver in ``images/operating_systems.toml``: its branch and package names for each operating system."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.operating_systems import OperatingSystem, operating_systems

OPEN, PROPRIETARY = "open", "proprietary"
KINDS = (OPEN, PROPRIETARY)
"""Kinds of kernel modules: open modules for Turing and later, proprietary modules up to Hopper (role nvidia_driver)."""

_ASKED = re.compile(r"(?P<suite>[a-z][a-z0-9-]*)=(?P<kernel>[0-9][A-Za-z0-9.+~-]*)(=(?P<kind>open|proprietary))?")


@dataclass(frozen=True, kw_only=True)
class DriverPackage:
    """The driver for one operating system."""

    suite: str
    """Name of the distribution's release in archives, such as ``bookworm``."""
    branch: str
    modules: Mapping[str, tuple[str, ...]]
    """Packages by kind; empty for a kind that the archives lack."""
    libraries: tuple[str, ...]
    headers: str
    """Name of the kernel headers' package, in which ``{kernel}`` stands for the kernel's release."""

    def packages(self, kernel: str, kind: str = "") -> tuple[str, ...]:
        """Return all packages that role nvidia_driver installs for a kernel. Without ``kind``, choose the open modules
        if available. The fabric manager, for machines with NVSwitches, is not included. Raise :class:`SetupError` when
        the system has no modules of that kind."""
        wanted = kind or next(name for name in KINDS if self.modules[name])
        if not self.modules[wanted]:
            raise SetupError(
                f"{self.suite} has no {wanted} modules of branch {self.branch} (images/operating_systems.toml)"
            )
        return (self.headers.format(kernel=kernel), *self.modules[wanted], *self.libraries)


@dataclass(frozen=True, kw_only=True)
class DriverRequest:
    """A driver that a depot is to contain."""

    suite: str
    kernel: str
    """Release of the kernel, as printed by ``uname -r``."""
    kind: str
    """Kind of modules; empty to choose the first available kind."""


def parse_request(text: str) -> DriverRequest:
    """Parse ``SUITE=KERNEL`` or ``SUITE=KERNEL=KIND``. Raise ValueError for anything else."""
    match = _ASKED.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{text!r}: write SUITE=KERNEL, the kernel as `uname -r` prints it, or SUITE=KERNEL=KIND "
            f"({', '.join(KINDS)})"
        )
    return DriverRequest(suite=match["suite"], kernel=match["kernel"], kind=match["kind"] or "")


def drivers(root: Path | None = None) -> dict[str, DriverPackage]:
    """Return the drivers by operating system, such as ``debian-12``. Raise :class:`SetupError` when the file is
    invalid."""
    systems = operating_systems(root)
    try:
        return {name: _driver(system) for name, system in systems.items() if system.nvidia}
    except KeyError as error:
        raise SetupError(f"images/operating_systems.toml, nvidia: the key {error} is missing") from error


def driver_packages(asked: DriverRequest, known: Mapping[str, DriverPackage]) -> list[tuple[str, str]]:
    """Return each package with its suite. Raise :class:`SetupError` when no driver is pinned for the suite."""
    of_suite = [driver for driver in known.values() if driver.suite == asked.suite]
    if not of_suite:
        suites = ", ".join(driver.suite for driver in known.values())
        raise SetupError(
            f"no branch of NVIDIA's driver is pinned for {asked.suite} (images/operating_systems.toml has {suites})"
        )
    return [(asked.suite, name) for driver in of_suite for name in driver.packages(asked.kernel, asked.kind)]


def _driver(system: OperatingSystem) -> DriverPackage:
    pin = system.nvidia
    return DriverPackage(
        suite=system.suite,
        branch=pin["branch"],
        modules={kind: tuple(pin[kind]) for kind in KINDS},
        libraries=tuple(pin["libraries"]),
        headers=pin["headers"],
    )
