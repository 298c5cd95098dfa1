"""Debian packages that the lab needs on the host. If all are installed, nothing is fetched.

The packages start no service: they contain programs (mmdebstrap, git, ip, nft; dnsmasq-base is dnsmasq without its
service) and systemd-nspawn. Debian ships nftables with its service disabled, and the units of systemd-container start
on demand. Packages that start a service when they are installed (strongswan, haproxy, dnsmasq) belong in the machines'
image, never here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from longhaul.toolchain.cache import Progress, cache_root, locked
from longhaul.toolchain.errors import SetupError, ToolCommandError, disk_full, is_disk_full, is_network
from longhaul.toolchain.process import run_logged


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package, and a file or command that shows that its content is present, even on systems without that package."""

    name: str
    shows: str
    """A command on PATH, or a file when it begins with a slash."""


HOST = (
    Package(name="mmdebstrap", shows="mmdebstrap"),
    Package(name="debian-archive-keyring", shows="/usr/share/keyrings/debian-archive-keyring.gpg"),
    Package(name="systemd-container", shows="systemd-nspawn"),
    Package(name="nftables", shows="nft"),
    Package(name="dnsmasq-base", shows="dnsmasq"),
    Package(name="iproute2", shows="ip"),
    Package(name="procps", shows="sysctl"),
    Package(name="ca-certificates", shows="/etc/ssl/certs/ca-certificates.crt"),
    Package(name="git", shows="git"),
    Package(name="gpg", shows="gpg"),
    Package(name="gpg-agent", shows="gpg-agent"),
)
GO = (Package(name="golang-go", shows="go"),)
"""Any Go; it fetches the pinned Go itself. Installed only when a tool has to be built and there is no Go."""
C = (Package(name="gcc", shows="gcc"), Package(name="libc6-dev", shows="/usr/include/stdio.h"))
"""C compiler, for tools that are partly in C. Installed only when such a tool has to be built."""


def ensure(wanted: Iterable[Package] = HOST, *, log_dir: Path, progress: Progress) -> tuple[str, ...]:
    """Install the missing packages with apt, and return their names. Raise :class:`SetupError` when that fails."""
    lacking = missing(wanted)
    names = tuple(package.name for package in lacking)
    if not lacking:
        return names
    if not _is_debian():
        raise SetupError(
            "This system has no apt, and the lab needs: "
            + ", ".join(f"{package.shows} (Debian's {package.name})" for package in lacking)
            + ". Install them with your own package manager and run it again."
        )
    if os.geteuid() != 0:
        raise SetupError(f"The packages {' '.join(names)} are missing and only root can install them: run it as root.")
    # apt's own waiting for other processes does not cover `update`; tools and tests install packages at the same time.
    with locked(
        cache_root() / "packages.lock", waiting=lambda: progress("waiting for another installation of packages")
    ):
        if lacking := missing(lacking):
            progress(f"installing {' '.join(package.name for package in lacking)}")
            _install(tuple(package.name for package in lacking), log=log_dir / "packages.log")
    if still := missing(lacking):
        raise SetupError(
            f"apt installed {' '.join(p.name for p in still)}, but they are not there; see {log_dir / 'packages.log'}"
        )
    return names


def missing(wanted: Iterable[Package] = HOST) -> tuple[Package, ...]:
    """Return the packages of ``wanted`` whose content is not on this machine, from a package or otherwise."""
    return tuple(package for package in wanted if not _is_there(package))


def _is_there(package: Package) -> bool:
    if package.shows.startswith("/"):
        return Path(package.shows).exists()
    # Administration commands are not on every user's PATH.
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"))
    return shutil.which(package.shows, path=path) is not None


def _is_debian() -> bool:
    return shutil.which("apt-get") is not None and shutil.which("dpkg-query") is not None


def _install(names: tuple[str, ...], *, log: Path) -> None:
    what = "installing " + " ".join(names)
    # After a killed run, apt refuses everything until the unfinished installation is finished.
    steps = (
        ["dpkg", "--configure", "-a"],
        ["apt-get", "-q", "update"],
        ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120", "install", "--no-install-recommends", *names],
    )
    for argv in steps:
        try:
            run_logged(argv, log=log, what=what, env={"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"})
        except ToolCommandError as error:
            raise _explain(error, what=what) from error


def _explain(error: ToolCommandError, *, what: str) -> SetupError:
    if is_disk_full(error.output):
        return SetupError(f"{disk_full(Path('/'), doing=what)}\n{error}")
    if is_network(error.output):
        return SetupError(
            f"{what}: no package archive can be reached. Connect this machine, or correct its apt sources.\n{error}"
        )
    return SetupError(f"{error}\nTry `apt-get install {' '.join(what.split()[1:])}` by hand, then run it again.")
