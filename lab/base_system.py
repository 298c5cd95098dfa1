"""Base of every image: an operating system with the ``bare`` packages, cached under a digest of its sources."""

from __future__ import annotations

import os
from pathlib import Path

from longhaul.artifacts.image_contents import Contents
from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder, write_json
from longhaul.toolchain.debian import OPTIONS, debootstrap, package_versions
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import machine_arch

_LAYOUT = 2
"""Version of the result. Raise it when the code below makes a different result from the same sources."""


def ensure(contents: Contents, *, log_dir: Path, progress: Progress) -> Path:
    """Make the base unless it is cached, and return its folder: ``rootfs``, ``packages.json`` (name to version) and
    ``sources.list`` (where apt got them)."""
    of = contents.operating_system
    sources = (machine_arch(), contents.suite, of.components, contents.bare, OPTIONS)
    place = cache_root() / "base" / digest(_LAYOUT, *sources)

    def make(into: Path) -> None:
        require_root("the base image")
        progress(f"base image: {of.title} ({of.suite}) with {len(contents.bare)} packages and what they need")
        debootstrap(into, of=of, packages=contents.bare, log=log_dir / "base-image.log")
        write_json(into / "packages.json", package_versions(into / "rootfs"))

    ensure_folder(place, make, what="base image", progress=progress)
    return place


def require_root(what: str) -> None:
    """Raise :class:`SetupError` unless this process runs as root, because only root can make file systems."""
    if os.geteuid() != 0:
        raise SetupError(f"making {what} needs root: run it as root")
