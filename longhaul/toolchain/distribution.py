"""Distributions that machines can have, each with its archives' components and keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import repository


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A distribution whose systems mmdebstrap and apt can make. mmdebstrap knows the mirrors."""

    name: str
    """Name, equal to ``ID`` in /etc/os-release."""
    title: str
    components: tuple[str, ...]
    """Components of the archives from which packages are taken."""
    keyring: str
    """Path of the archives' keys on a machine that runs this distribution."""
    key: Path | None = None
    """File with the key that signs the archives, for machines of other distributions; None when mmdebstrap finds it."""
    fingerprint: str = ""
    """Fingerprint of ``key``."""


DEBIAN = Distribution(
    name="debian",
    title="Debian",
    components=("main",),
    keyring="/usr/share/keyrings/debian-archive-keyring.gpg",
)
UBUNTU = Distribution(
    name="ubuntu",
    title="Ubuntu",
    # universe has containernetworking-plugins and strongSwan's charon-systemd.
    components=("main", "universe"),
    keyring="/usr/share/keyrings/ubuntu-archive-keyring.gpg",
    # Debian 12 has no package with it. It is Ubuntu's archive key of 2018, which signs 24.04, from the package
    # ubuntu-keyring 2023.11.28.1; the fingerprint is also in https://bugs.launchpad.net/bugs/1881278.
    key=repository() / "images" / "keyrings" / "ubuntu-archive-2018.asc",
    fingerprint="F6ECB3762474EDA9D21B7022871920D1991BC93C",
)
KNOWN = {distribution.name: distribution for distribution in (DEBIAN, UBUNTU)}


def by_name(name: str) -> Distribution:
    """Return the distribution ``name``. Raise :class:`SetupError` when it is unknown."""
    if name not in KNOWN:
        raise SetupError(f"{name!r} is no distribution that images are made of: {', '.join(KNOWN)}")
    return KNOWN[name]
