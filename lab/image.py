"""The lab's image: one read-only root file system, which every machine lies over.

Made in two layers, so that a changed unit file costs no new system: the base is Debian with the packages of
``images/image.toml``; the image is the base (hard links), the trees ``images/rootfs/`` and ``lab/rootfs/``, and the
pinned binaries. Both are cached by what they are made of. ``manifest.json`` beside the root says what is in it.

From Python: :func:`bake`. From a shell: ``python3 -m lab.image`` prints the root's path.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lab import tools
from lab.toolchain.cache import Progress, cache_root, digest, ensure_folder, sha256_file, write_json
from lab.toolchain.debian import OPTIONS, debootstrap, package_versions
from lab.toolchain.errors import CommandError, SetupError
from lab.toolchain.process import output_of
from lab.toolchain.spec import machine_arch, repository

_BINARIES = Path("usr/local/bin")
_LAYOUT = 1
"""To be raised when the code below makes something else of the same sources."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """A finished image."""

    path: Path
    """The root file system: the read-only lower layer of every machine. Nothing may write to it."""
    version: str
    """Changes with the content: any package's version, binary or file."""
    manifest: Mapping[str, Any]
    """``version``, ``suite``, ``packages`` (name to version), ``binaries`` (name to SHA-256) and ``files`` (path to
    what :func:`describe` says)."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What an image is made of."""

    suite: str
    packages: tuple[str, ...]
    tools: tuple[str, ...]
    trees: tuple[Path, ...]
    """Laid over the base in this order."""


def load_sources(root: Path | None = None) -> Sources:
    """What ``images/image.toml`` of a checkout (this one by default) says, and its trees."""
    root = root or repository()
    path = root / "images" / "image.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return Sources(
            suite=raw["suite"],
            packages=tuple(sorted(raw["packages"])),
            tools=tuple(raw["tools"]),
            trees=(root / "images" / "rootfs", root / "lab" / "rootfs"),
        )
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SetupError(f"{path}: {error}") from error
    except KeyError as error:
        raise SetupError(f"{path}: the key {error} is missing") from error


def bake(*, log_dir: Path, progress: Progress, sources: Sources | None = None) -> Image:
    """Have the image of this checkout. Needs root where something has to be made. Raises :class:`SetupError`."""
    sources = sources or load_sources()
    binaries = tools.ensure(sources.tools, log_dir=log_dir, progress=progress)
    base = _base(sources, log_dir=log_dir, progress=progress)
    files = dict(_files(sources.trees))
    described = {name: describe(path) for name, path in files.items()}
    place = (
        base.parent.parent / "image" / digest(_LAYOUT, base.name, described, {n: str(p) for n, p in binaries.items()})
    )
    make = partial(_make_image, base=base, files=files, binaries=binaries, suite=sources.suite)
    if ensure_folder(place, make, what="image", progress=progress):
        progress(f"image: made of {len(files)} files and {len(binaries)} binaries over Debian {sources.suite}")
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    return Image(path=place / "rootfs", version=manifest["version"], manifest=manifest)


def _base(sources: Sources, *, log_dir: Path, progress: Progress) -> Path:
    place = cache_root() / "base" / digest(_LAYOUT, machine_arch(), sources.suite, sources.packages, OPTIONS)

    def make(into: Path) -> None:
        if os.geteuid() != 0:
            raise SetupError("making the base image needs root: run it as root")
        progress(f"base image: Debian {sources.suite} with {len(sources.packages)} packages and what they need")
        debootstrap(into / "rootfs", suite=sources.suite, packages=sources.packages, log=log_dir / "base-image.log")
        write_json(into / "packages.json", package_versions(into / "rootfs"))

    ensure_folder(place, make, what="base image", progress=progress)
    return place


def _files(trees: tuple[Path, ...]) -> Iterator[tuple[str, Path]]:
    """Every file and link of the trees by its path in the image; where two have the same, the later tree's."""
    for tree in trees:
        for path in sorted(tree.rglob("*")):
            if "__pycache__" not in path.parts and (path.is_symlink() or path.is_file()):
                yield str(path.relative_to(tree)), path


def describe(path: Path) -> str:
    """Content and kind of a file in one line: what an image differs by."""
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return f"{_mode(path):04o} {sha256_file(path)}"


def _mode(path: Path) -> int:
    """Git keeps one bit of a file's mode, so only that one counts."""
    return 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644


def _make_image(into: Path, *, base: Path, files: Mapping[str, Path], binaries: Mapping[str, Path], suite: str) -> None:
    if os.geteuid() != 0:
        raise SetupError("making the image needs root: run it as root")
    root = into / "rootfs"
    output_of(["cp", "--archive", "--link", str(base / "rootfs"), str(root)])
    for name, source in files.items():
        _lay(source, root / name)
    for name, source in binaries.items():
        _link_or_copy(source, root / _BINARIES / name)
    _make_accounts(root)
    manifest = {
        "suite": suite,
        "packages": json.loads((base / "packages.json").read_text(encoding="utf-8")),
        "binaries": {name: sha256_file(path) for name, path in binaries.items()},
        "files": {name: describe(path) for name, path in files.items()},
    }
    write_json(into / "manifest.json", {"version": f"{suite}-{digest(_LAYOUT, manifest)}", **manifest})


def _lay(source: Path, target: Path) -> None:
    """Put a file of a tree into the image. One that is there is a hard link into the base: replaced, not written to."""
    for folder in reversed([parent for parent in target.parents if not parent.exists()]):
        folder.mkdir()
        folder.chmod(0o755)
    target.unlink(missing_ok=True)
    shutil.copyfile(source, target, follow_symlinks=False)
    if not target.is_symlink():
        target.chmod(_mode(source))


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:
        # Another file system, or one without links. A full disk fails the copy as well.
        shutil.copy2(source, target)


def _make_accounts(root: Path) -> None:
    """The accounts that the trees' sysusers.d files declare. Made by the image's systemd; it too replaces files."""
    try:
        output_of(["chroot", str(root), "systemd-sysusers"])
    except CommandError as error:
        raise SetupError(
            f"making the image's accounts: {error}\nCorrect the files in images/rootfs/usr/lib/sysusers.d."
        ) from error


def main(argv: list[str] | None = None) -> int:
    """The shell's side of this module."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.image", description="Make the lab's image; prints where it is."
    )
    parser.add_argument("--log-dir", type=Path, default=repository() / ".lab" / "log", help="default: .lab/log")
    parser.add_argument("--json", action="store_true", help="print the manifest too")
    args = parser.parse_args(argv)
    try:
        image = bake(log_dir=args.log_dir, progress=lambda line: print(line, file=sys.stderr, flush=True))
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"path": str(image.path), **image.manifest}, indent=2) if args.json else image.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
