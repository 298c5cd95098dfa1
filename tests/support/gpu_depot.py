"""A depot for machines with GPUs, with the parts that tests need: NVIDIA's driver from the distribution's archives, the
headers of one of its own kernels, and the container toolkit."""

from __future__ import annotations

import re
import shutil
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

from lab import base_system, tools
from lab.signing import KEY, signing
from longhaul.artifacts import image_contents
from longhaul.artifacts.manifest import seal
from longhaul.toolchain import archive, debian
from longhaul.toolchain.cache import cache_root, digest, ensure_folder, sha256_file
from longhaul.toolchain.operating_systems import by_name
from longhaul.toolchain.spec import load, machine_arch
from tests.support import loopback

TOOLKIT = "nvidia-container-toolkit"
_LAYOUT = 1
"""Version of the layout; raise it when the code below makes something else of the same sources."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A system with a driver in images/operating_systems.toml."""

    name: str
    """Name there."""
    kind: str
    """Kind of modules that are built."""
    components: str
    """Components of the archives with the driver and all that it needs."""
    headers: str
    """Package that depends on the headers of one kernel."""
    release: str
    """Pattern of that kernel's release."""


DEBIAN = System(
    name="debian-12",
    kind="proprietary",
    components="main contrib non-free non-free-firmware",
    headers=f"linux-headers-cloud-{machine_arch()}",
    release=r"\d.*-cloud-[a-z0-9]+",
)
UBUNTU = System(
    name="ubuntu-24.04",
    kind="open",
    # multiverse has the fabric manager.
    components="main universe restricted multiverse",
    headers="linux-headers-generic",
    release=r"\d.*-generic",
)


@dataclass(frozen=True, kw_only=True)
class GpuDepot:
    """A folder with ``binaries`` and ``debian``, laid out as a depot's."""

    root: Path
    base: Path
    """The lab's base image, over which the packages are installed."""
    system: System = DEBIAN

    @property
    def packages(self) -> Path:
        return self.root / "debian" / image_contents.load(operating_system=self.system.name).suite

    @property
    def kernel(self) -> str:
        """Return the release of the kernel whose headers it has."""
        pattern = re.compile(f"linux-headers-({self.system.release})_")
        (found,) = {match[1] for path in self.packages.iterdir() if (match := pattern.match(path.name))}
        return found

    def version(self, package: str) -> str:
        """Return a package's version without Debian's part, as in ``535.309.01``."""
        (path,) = self.packages.glob(f"{package}_*.deb")
        return path.name.split("_")[1].rsplit("-", 1)[0]


def pins(system: System = DEBIAN) -> dict[str, Any]:
    """Return the names of NVIDIA's packages, from images/operating_systems.toml."""
    return dict(by_name(system.name).nvidia)


def ensure(log_dir: Path, system: System = DEBIAN) -> GpuDepot:
    """Return the depot. If it is not cached, 160 MB are downloaded (Ubuntu: 230 MB). Raises
    :class:`longhaul.toolchain.errors.SetupError`."""
    wanted = image_contents.load(operating_system=system.name)
    under = base_system.ensure(wanted, log_dir=log_dir, progress=print)
    found = tools.ensure([TOOLKIT], log_dir=log_dir, progress=print)
    (tool,) = load().select([TOOLKIT])
    pinned = pins(system)
    names = [*pinned[system.kind], *pinned["libraries"], system.headers]
    place = cache_root() / "gpu-depot" / digest(_LAYOUT, KEY, under.name, names, {k: str(v) for k, v in found.items()})

    def make(into: Path) -> None:
        packages = into / "debian" / wanted.suite
        packages.mkdir(parents=True)
        with_all = into / "base"
        with_all.mkdir()
        (with_all / "rootfs").symlink_to(under / "rootfs")
        sources = (under / "sources.list").read_text(encoding="utf-8")
        ours = re.escape(" ".join(wanted.operating_system.components))
        (with_all / "sources.list").write_text(
            re.sub(rf" {ours}$", f" {system.components}", sources, flags=re.MULTILINE)
        )
        log = log_dir / "gpu-depot.log"
        debian.download(with_all, names, into=packages, log=log, key=wanted.operating_system.key)
        shutil.rmtree(with_all)
        archive.index(packages, suite=wanted.suite, arch=machine_arch())
        sums = []
        for name, path in sorted(found.items()):
            where = f"{name}/{tool.version}/{name}"
            (into / "binaries" / where).parent.mkdir(parents=True)
            shutil.copy(path, into / "binaries" / where)
            sums.append(f"{sha256_file(path)}  {where}\n")
        (into / "binaries" / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
        with signing() as sign:
            seal(into, {}, sign=sign)

    ensure_folder(place, make, what="packages for GPUs", progress=print)
    return GpuDepot(root=place, base=under, system=system)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def served(root: Path) -> AbstractContextManager[str]:
    """Serve the folder on loopback; the block gets the address."""
    return loopback.listening(partial(_Quiet, directory=str(root)))
