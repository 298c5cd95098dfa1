"""The depot's content, made of what is cached already: tools, Debian packages, and images around the tools.

From Python: :func:`ensure`. From a shell: ``python3 -m lab.depot.build`` prints the folder, which :mod:`lab.depot.app`
serves::

    binaries/<name>/<version>/<name>    and SHA256SUMS of them
    debian/                             a flat archive: every package that the roles add to a bare machine
    images/                             an OCI image layout
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lab import base, contents, tools
from lab.contents import ContainerImage, Contents
from lab.depot.oci import Image, copy_of, write_layout
from lab.toolchain import archive, debian
from lab.toolchain.cache import Progress, cache_root, digest, ensure_folder, require_space, sha256_file
from lab.toolchain.errors import SetupError
from lab.toolchain.spec import load, machine_arch, repository

_LAYOUT = 1
"""To be raised when the code below makes something else of the same sources."""
_SPACE_MIB = 400
"""What packages and images take while they are made."""


def ensure(*, log_dir: Path, progress: Progress, wanted: Contents | None = None) -> Path:
    """Have the depot's folder. Costs no network and no work when it is cached. Raises :class:`SetupError`."""
    wanted = wanted or contents.load()
    binaries = tools.ensure({*wanted.node_tools, *wanted.host_tools}, log_dir=log_dir, progress=progress)
    images = [_image(image, log_dir=log_dir, progress=progress) for image in wanted.images]
    debs = packages(wanted, log_dir=log_dir, progress=progress)
    versions = _versions()
    place = (
        cache_root()
        / "depot"
        / digest(
            _LAYOUT, debs.name, {name: str(path) for name, path in binaries.items()}, [repr(image) for image in images]
        )
    )

    def make(into: Path) -> None:
        require_space(into, mib=_SPACE_MIB, doing="making the depot")
        sums = []
        for name, path in sorted(binaries.items()):
            where = f"{name}/{versions[name]}/{name}"
            copy_of(path, into=into / "binaries" / where)
            sums.append(f"{sha256_file(path)}  {where}\n")
        (into / "binaries" / "SHA256SUMS").write_text("".join(sums), encoding="ascii")
        for path in sorted(debs.iterdir()):
            copy_of(path, into=into / "debian" / path.name)
        write_layout(into / "images", images, arch=machine_arch())

    if ensure_folder(place, make, what="depot", progress=progress):
        progress(f"depot: {len(binaries)} binaries and {len(images)} container images")
    return place


def packages(wanted: Contents, *, log_dir: Path, progress: Progress) -> Path:
    """The flat archive of what the roles install over the base image."""
    under = base.ensure(wanted, log_dir=log_dir, progress=progress)
    names = sorted({*wanted.node, *wanted.gateway})
    place = cache_root() / "debs" / digest(_LAYOUT, under.name, names)

    def make(into: Path) -> None:
        debian.download(under, names, into=into, log=log_dir / "packages-of-machines.log")
        archive.index(into, suite=wanted.suite, arch=machine_arch())
        progress(f"packages for machines: {len(list(into.glob('*.deb')))} fetched")

    ensure_folder(place, make, what="packages for machines", progress=progress)
    return place


def _versions() -> dict[str, str]:
    return {binary.name: tool.version for tool in load().tools for binary in tool.binaries}


def _image(wanted: ContainerImage, *, log_dir: Path, progress: Progress) -> Image:
    (tool,) = load().select([wanted.tool])
    found = tools.ensure([wanted.tool], log_dir=log_dir, progress=progress)
    return Image(
        name=f"{wanted.name}:{wanted.tag.format(version=tool.version)}",
        binary=found[wanted.tool],
        entrypoint=wanted.entrypoint,
        command=wanted.command,
        user=wanted.user,
        capabilities=wanted.capabilities,
    )


def main(argv: list[str] | None = None) -> int:
    """The shell's side of this module."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.depot.build", description="Make the depot's content; prints where it is."
    )
    parser.add_argument("--log-dir", type=Path, default=repository() / ".lab" / "log", help="default: .lab/log")
    args = parser.parse_args(argv)
    try:
        print(ensure(log_dir=args.log_dir, progress=lambda line: print(line, file=sys.stderr, flush=True)))
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
