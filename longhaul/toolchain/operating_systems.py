"""``images/operating_systems.toml`` as types: the operating systems that machines may run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import repository


@dataclass(frozen=True, kw_only=True)
class OperatingSystem:
    """An operating system that mmdebstrap and apt can make. mmdebstrap knows the mirrors."""

    name: str
    """``ID`` and ``VERSION_ID`` of /etc/os-release, as in ``debian-12``."""
    title: str
    suite: str
    """Name of the release in archives, as in ``bookworm``."""
    components: tuple[str, ...]
    """Components of the archives from which packages are taken."""
    keyring: str
    """Path of the archives' keys on a machine that runs this system."""
    key: Path | None
    """File with the key that signs the archives, for machines of other systems; None when mmdebstrap finds it."""
    fingerprint: str
    """Fingerprint of ``key``."""
    bare: tuple[str, ...]
    """Packages that only machines with this system have from the start."""
    nvidia: Mapping[str, Any]
    """NVIDIA's driver (:mod:`longhaul.artifacts.nvidia_driver`); empty when none is pinned."""

    @property
    def id(self) -> str:
        """Return ``ID`` of /etc/os-release."""
        return self.name.partition("-")[0]


def operating_systems(root: Path | None = None) -> dict[str, OperatingSystem]:
    """Return the operating systems of a checkout, by default of this one, by name. Raise :class:`SetupError` when the
    file is invalid."""
    folder = (root or repository()) / "images"
    path = folder / "operating_systems.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: _system(name, table, keyrings=folder / "keyrings") for name, table in raw.items()}
    except (OSError, tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
        raise SetupError(f"{path}: {error}") from error
    except KeyError as error:
        raise SetupError(f"{path}: the key {error} is missing") from error


def by_name(name: str, root: Path | None = None) -> OperatingSystem:
    """Return the operating system ``name``. Raise :class:`SetupError` when it is unknown."""
    known = operating_systems(root)
    if name not in known:
        raise SetupError(f"{name!r} is no operating system that images are made of: {', '.join(known)}")
    return known[name]


def _system(name: str, table: Mapping[str, Any], *, keyrings: Path) -> OperatingSystem:
    return OperatingSystem(
        name=name,
        title=table["title"],
        suite=table["suite"],
        components=tuple(table["components"]),
        keyring=table["keyring"],
        key=keyrings / table["key"] if "key" in table else None,
        fingerprint=table.get("fingerprint", ""),
        bare=tuple(table["bare"]),
        nvidia=table.get("nvidia", {}),
    )
