"""Parts of a depot, and the layout of its folder::

binaries/<name>/<version>/<name>    and SHA256SUMS of them
debian/<suite>/                     a flat archive: every package that the roles add to a bare machine
images/                             an OCI image layout
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longhaul.artifacts.image_contents import ContainerImage
from longhaul.artifacts.image_pulls import Pulled, add
from longhaul.artifacts.oci import Image, write_layout
from longhaul.toolchain.cache import sha256_file
from longhaul.toolchain.spec import Spec, load, machine_arch

Place = Callable[[Path, Path], None]
"""Places a file of the cache (first argument) at a path of the depot (second argument), whose folder exists."""


@dataclass(frozen=True, kw_only=True)
class DepotParts:
    """Finished parts of a depot, all in the cache."""

    binaries: Mapping[str, Path]
    """Paths of the binaries by name."""
    archives: Mapping[str, Path]
    """Folders by suite, indexed by :func:`longhaul.toolchain.archive.index`."""
    images: Sequence[Image]
    pulled: Sequence[Pulled] = ()


def fill(into: Path, parts: DepotParts, *, place: Place, spec: Spec | None = None) -> None:
    """Lay the parts out in the folder ``into``. ``spec`` gives the binaries' versions; by default, it is read from this
    checkout."""
    versions = {binary.name: tool.version for tool in (spec or load()).tools for binary in tool.binaries}
    sums = []
    for kind in ("binaries", "debian"):
        (into / kind).mkdir()
    for name, path in sorted(parts.binaries.items()):
        where = f"{name}/{versions[name]}/{name}"
        _put(path, into / "binaries" / where, place)
        sums.append(f"{sha256_file(path)}  {where}\n")
    (into / "binaries" / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
    for suite, folder in sorted(parts.archives.items()):
        for path in sorted(folder.iterdir()):
            _put(path, into / "debian" / suite / path.name, place)
    write_layout(into / "images", parts.images, arch=machine_arch())
    for pulled in parts.pulled:
        add(into / "images", pulled)


def _put(source: Path, target: Path, place: Place) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    place(source, target)


def build_image(
    wanted: ContainerImage,
    *,
    binary: Path,
    libraries: Mapping[str, Path] | None = None,
    system: Path | None = None,
    spec: Spec | None = None,
) -> Image:
    """Return the image around its tool's binary. ``libraries`` are a dynamic binary's shared libraries, by their path
    in the image. ``system`` is the folder with the rest of the image, for an image that is a whole system."""
    (tool,) = (spec or load()).select([wanted.tool])
    return Image(
        name=f"{wanted.name}:{wanted.tag.format(version=tool.version)}",
        binary=binary,
        entrypoint=wanted.entrypoint,
        command=wanted.command,
        user=wanted.user,
        capabilities=wanted.capabilities,
        libraries=libraries or {},
        system=system,
    )
