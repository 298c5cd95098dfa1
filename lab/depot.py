"""The lab's depot, made from cached parts: a folder of :mod:`longhaul.artifacts`, for any environment in a lab.

The depot's container images are made from tools, because a machine with a lab may reach no registry. The depot has the
packages that the lab's base image lacks. The lab signs the depot, like a builder (:mod:`lab.signing`).
"""

from __future__ import annotations

from pathlib import Path

from lab import base_system, container_system, tools
from lab.signing import KEY, signing
from longhaul.artifacts import image_contents
from longhaul.artifacts.image_contents import Contents
from longhaul.artifacts.layout import DepotParts, build_image, fill
from longhaul.artifacts.manifest import seal
from longhaul.artifacts.oci import copy_of
from longhaul.toolchain import archive, debian
from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder, require_space
from longhaul.toolchain.spec import Spec, load, machine_arch

_LAYOUT = 3
"""Version of the result. Raise it when the code makes a different result from the same sources."""
_SPACE_MIB = 400
"""Free space in MiB that is needed to make packages and images."""


def ensure(*, log_dir: Path, progress: Progress, wanted: Contents | None = None, spec: Spec | None = None) -> Path:
    """Make the depot's folder, with the versions of ``spec``, unless it is cached, and return it. A cached depot needs
    no network and no work. Raise :class:`longhaul.toolchain.errors.SetupError` when it cannot be made."""
    wanted, spec = wanted or image_contents.load(), spec or load()
    binaries = tools.ensure(
        {*wanted.node_tools, *wanted.host_tools, *wanted.gpu_tools}, log_dir=log_dir, progress=progress, spec=spec
    )
    under = base_system.ensure(wanted, log_dir=log_dir, progress=progress) / "rootfs"
    # Without a name, tools.ensure would make all tools.
    named = {image.tool for image in wanted.images}
    around = tools.ensure(named, log_dir=log_dir, progress=progress) if named else {}
    images = [
        build_image(
            image,
            binary=around[image.tool],
            libraries=debian.libraries(under, image.libraries),
            system=container_system.ensure(
                image, wanted=wanted, around=around, base=under.parent, log_dir=log_dir, progress=progress
            ),
        )
        for image in wanted.images
    ]
    debs = packages(wanted, log_dir=log_dir, progress=progress)
    paths = {name: str(path) for name, path in binaries.items()}
    place = cache_root() / "depot" / digest(_LAYOUT, KEY, debs.name, paths, [repr(image) for image in images])

    def make(into: Path) -> None:
        require_space(into, mib=_SPACE_MIB, doing="making the depot")
        parts = DepotParts(binaries=binaries, archives={wanted.suite: debs}, images=images)
        # The depot is in the cache, like its parts, and nobody writes to either, so its files can be links to them.
        fill(into, parts, place=lambda source, target: copy_of(source, into=target), spec=spec)
        with signing() as sign:
            seal(into, {}, sign=sign)

    if ensure_folder(place, make, what="depot", progress=progress):
        progress(f"depot: {len(binaries)} binaries and {len(images)} container images")
    return place


def packages(wanted: Contents, *, log_dir: Path, progress: Progress) -> Path:
    """Make the flat archive of the packages that the roles install over the base image, unless it is cached; return its
    folder."""
    under = base_system.ensure(wanted, log_dir=log_dir, progress=progress)
    names = sorted({*wanted.node, *wanted.gateway})
    place = cache_root() / "debs" / digest(_LAYOUT, under.name, names)

    def make(into: Path) -> None:
        log = log_dir / "packages-of-machines.log"
        debian.download(under, names, into=into, log=log, key=wanted.operating_system.key)
        archive.index(into, suite=wanted.suite, arch=machine_arch())
        progress(f"packages for machines: {len(list(into.glob('*.deb')))} fetched")

    ensure_folder(place, make, what="packages for machines", progress=progress)
    return place
