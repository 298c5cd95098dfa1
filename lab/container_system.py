"""Systems inside container images: Debian packages without their scripts, for images whose pods run more than one
binary."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from longhaul.artifacts.image_contents import ContainerImage, Contents, System
from longhaul.toolchain import debian
from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder, remove, require_space
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.process import output_of
from longhaul.toolchain.spec import load

_LAYOUT = 1
"""Version of the result. Raise it when the code below makes a different result from the same sources."""
_SPACE_MIB = 400
"""Free space in MiB that is needed to make a system."""
_MERGED = ("bin", "lib", "lib64", "sbin")
"""Folders that are links into ``usr``, as in every Debian since 12."""
_UNUSED = ("usr/share/bash-completion", "usr/share/doc", "usr/share/info", "usr/share/locale", "usr/share/man")
_BUSYBOX = "usr/bin/busybox"
_EXTRACT = 'dpkg-deb --fsys-tarfile "$1" | tar --extract --keep-directory-symlink --directory "$2"'
"""Script that unpacks a package. ``dpkg-deb --extract`` would replace the links into ``usr`` by folders."""


def ensure(
    image: ContainerImage,
    *,
    wanted: Contents,
    around: Mapping[str, Path],
    base: Path,
    log_dir: Path,
    progress: Progress,
) -> Path | None:
    """Return the folder of an image's system, and make it unless it is cached; None for an image without a system.
    ``around`` has the tools' binaries, ``base`` the base image and its archives. Raise :class:`SetupError` when the
    system cannot be made."""
    system = image.system
    if system is None:
        return None
    (tool,) = load().select([image.tool])
    beside = {binary.name: around[binary.name] for binary in tool.binaries if binary.name != tool.name}
    sources = (base.name, asdict(system), {name: str(path) for name, path in beside.items()})
    place = cache_root() / "container-system" / digest(_LAYOUT, *sources)

    def make(into: Path) -> None:
        require_space(into, mib=_SPACE_MIB, doing=f"making the system of the image {image.tool}")
        progress(f"image {image.tool}: fetching {len(system.packages)} packages and all they need")
        root = into / "root"
        _unpack(_fetch(system, into / "fetched", wanted=wanted, base=base, log=log_dir / "image-packages.log"), root)
        remove(into / "fetched")
        for name, path in beside.items():
            shutil.copyfile(path, root / name)
            (root / name).chmod(0o644)
        complete(root, system)

    ensure_folder(place, make, what=f"system of the image {image.tool}", progress=progress)
    return place / "root"


def complete(root: Path, system: System) -> None:
    """Add to an unpacked system what packages do not contain: folders, links, users, and a link for each program of
    busybox that no other package has."""
    for name in _UNUSED:
        remove(root / name)
    for name in system.folders:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, target in system.links.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
    etc = root / "etc"
    etc.mkdir(exist_ok=True)
    users, groups = system.users.items(), [(name, number, "") for name, number in system.users.items()]
    groups += [(name, number, member) for name, (number, member) in system.groups.items()]
    (etc / "passwd").write_text("".join(f"{name}:x:{number}:{number}::/:/bin/sh\n" for name, number in users))
    (etc / "group").write_text("".join(f"{name}:x:{number}:{member}\n" for name, number, member in groups))
    if (root / _BUSYBOX).exists():
        for applet in output_of([str(root / _BUSYBOX), "--list"]).split():
            if not any((root / folder / applet).exists() for folder in ("usr/bin", "usr/sbin")):
                (root / "usr/bin" / applet).symlink_to("busybox")


def _fetch(system: System, into: Path, *, wanted: Contents, base: Path, log: Path) -> Path:
    """Fetch the packages for a new system; return their folder."""
    empty = into / "base"
    (empty / "rootfs/var/lib/dpkg").mkdir(parents=True)
    (empty / "rootfs/var/lib/dpkg/status").touch()
    shutil.copyfile(base / "sources.list", empty / "sources.list")
    debian.download(empty, system.packages, into=into, log=log, key=wanted.operating_system.key)
    return into


def _unpack(packages: Path, root: Path) -> None:
    for name in _MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    archives = sorted(packages.glob("*.deb"))
    if not archives:
        raise SetupError(f"{packages} has no package")
    for archive in archives:
        output_of(["bash", "-o", "pipefail", "-c", _EXTRACT, "extract", str(archive), str(root)])
