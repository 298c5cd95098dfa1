"""The lab's images: read-only root file systems, which every machine lies over one of.

``bare`` is Debian as a provisioner leaves it on a rack's host; ``node`` is that after ``playbooks/image.yml``, which
cloud machines boot; ``gateway`` stands for the clouds' own VPN gateways. Made in layers, each cached by what it is made
of, so that a changed unit file costs neither a new system nor its packages. ``manifest.json`` beside the node's root
says what is in it.

From Python: :func:`bake`. From a shell: ``python3 -m lab.image`` prints the paths.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import base, contents, tools
from lab.ansible.runner import ansible_version, play
from lab.contents import Contents
from lab.depot import build as depot
from lab.depot.serving import served
from lab.toolchain.cache import Progress, cache_root, digest, ensure_folder, sha256_file, write_json
from lab.toolchain.debian import package_versions, tidy
from lab.toolchain.errors import SetupError
from lab.toolchain.spec import repository
from lab.toolchain.trees import copy_system, describe, files_of, lay, link_system

_LAYOUT = 2
"""To be raised when the code below makes something else of the same sources."""
_PLAYED_FILES = ("image.yml", "filter_plugins/pins.py", "lookup_plugins/tree.py")
"""What the playbook's run depends on besides the roles."""


@dataclass(frozen=True, kw_only=True)
class Images:
    """The finished images. Nothing may write to them."""

    bare: Path
    node: Path
    gateway: Path
    version: str
    """Changes with the content of any: a package's version, a binary, a file."""
    manifest: Mapping[str, Any]
    """Of ``node``: ``version``, ``suite``, ``packages`` (name to version), ``binaries`` (name to SHA-256) and ``files``
    (path to what :func:`lab.toolchain.trees.describe` says)."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the images are made of."""

    contents: Contents
    project: Path
    """A checkout: its playbooks and images are used."""
    lab_tree: Path
    """Laid over every image: what differs between a lab's machine and a real one."""

    @property
    def tree(self) -> Path:
        """What ``playbooks/image.yml`` lays over a node."""
        return self.project / "images" / "rootfs"


def load_sources(root: Path | None = None) -> Sources:
    """Those of a checkout (this one by default)."""
    root = root or repository()
    return Sources(contents=contents.load(root), project=root, lab_tree=root / "lab" / "rootfs")


def bake(*, log_dir: Path, progress: Progress, sources: Sources | None = None) -> Images:
    """Have the images of this checkout. Needs root where something has to be made. Raises :class:`SetupError`."""
    maker = _Maker(sources=sources or load_sources(), log_dir=log_dir, progress=progress)
    bare, gateway = maker.bare(), maker.gateway()
    node = maker.node()
    manifest = json.loads((node / "manifest.json").read_text(encoding="utf-8"))
    version = f"{maker.sources.contents.suite}-{digest(bare.name, gateway.name, manifest)}"
    return Images(
        bare=bare / "rootfs", node=node / "rootfs", gateway=gateway / "rootfs", version=version, manifest=manifest
    )


class _Maker:
    def __init__(self, *, sources: Sources, log_dir: Path, progress: Progress) -> None:
        self.sources = sources
        self._log_dir = log_dir
        self._progress = progress
        self._base = base.ensure(sources.contents, log_dir=log_dir, progress=progress)
        self._depot = depot.ensure(log_dir=log_dir, progress=progress, wanted=sources.contents)
        self._lab_files = dict(files_of([sources.lab_tree]))

    def bare(self) -> Path:
        return self._with_lab_files("bare", self._base)

    def gateway(self) -> Path:
        return self._with_lab_files("gateway", self._played("gateway-packages", ["packages"], {"kind": "gateway"}))

    def node(self) -> Path:
        """The layers: packages and binaries, which take long and change seldom; then the tree, the other way about."""
        under = self._played("node-packages", ["packages", "binaries"], {})
        files = dict(files_of([self.sources.tree, self.sources.lab_tree]))
        described = {name: describe(path) for name, path in files.items()}
        place = self._place("node", under.name, described, self._roles("rootfs"))

        def make(into: Path) -> None:
            base.require_root("the image")
            link_system(under / "rootfs", into / "rootfs")
            self._play(into / "rootfs", ["rootfs"], {"rootfs_tree": str(self.sources.tree)})
            lay(self._lab_files, into / "rootfs")
            tidy(into / "rootfs")
            write_json(into / "manifest.json", self._manifest(into / "rootfs", described))

        if ensure_folder(place, make, what="image", progress=self._progress):
            self._progress(f"image: {len(files)} files laid over it")
        return place

    def _played(self, name: str, tags: list[str], variables: Mapping[str, object]) -> Path:
        """The base and what the playbook's tasks with those tags make of it."""
        place = self._place(name, self._base.name, self._depot_parts(tags), variables, self._roles(*tags))

        def make(into: Path) -> None:
            base.require_root("the image")
            self._progress(f"{name}: playbooks/image.yml over the base image")
            copy_system(self._base / "rootfs", into / "rootfs")
            with served(self._depot) as address:
                self._play(into / "rootfs", tags, {"depot": address, **variables})
            (into / "rootfs/etc/apt/sources.list.d/longhaul-depot.list").unlink(missing_ok=True)
            tidy(into / "rootfs")

        ensure_folder(place, make, what=name, progress=self._progress)
        return place

    def _with_lab_files(self, name: str, under: Path) -> Path:
        described = {file: describe(path) for file, path in self._lab_files.items()}
        place = self._place(name, under.name, described)

        def make(into: Path) -> None:
            base.require_root("the image")
            link_system(under / "rootfs", into / "rootfs")
            lay(self._lab_files, into / "rootfs")

        ensure_folder(place, make, what=name, progress=self._progress)
        return place

    def _play(self, root: Path, tags: list[str], variables: Mapping[str, object]) -> None:
        playbook = self.sources.project / "playbooks" / "image.yml"
        play(playbook, root=root, tags=tags, variables=variables, log=self._log_dir / "image.log")

    def _place(self, name: str, *made_of: object) -> Path:
        return cache_root() / "image" / f"{name}-{digest(_LAYOUT, *made_of)}"

    def _roles(self, *names: str) -> dict[str, str]:
        """What a layer depends on of the playbook."""
        playbooks = self.sources.project / "playbooks"
        roles = (playbooks / "roles" / name for name in names)
        files = [playbooks / name for name in _PLAYED_FILES] + [path for _, path in files_of(roles)]
        described = {str(path.relative_to(playbooks)): describe(path) for path in files}
        return {"ansible": ansible_version(), **described}

    def _depot_parts(self, tags: list[str]) -> dict[str, str]:
        """What tells the depot's parts that the tasks take from apart from others of the same kind."""
        indexes = {"packages": "debian/Release", "binaries": "binaries/SHA256SUMS"}
        return {tag: sha256_file(self._depot / indexes[tag]) for tag in tags}

    def _manifest(self, root: Path, files: Mapping[str, str]) -> dict[str, Any]:
        binaries = tools.ensure(self.sources.contents.node_tools, log_dir=self._log_dir, progress=self._progress)
        manifest = {
            "suite": self.sources.contents.suite,
            "packages": package_versions(root),
            "binaries": {name: sha256_file(root / "usr/local/bin" / name) for name in sorted(binaries)},
            "files": dict(files),
        }
        return {"version": f"{self.sources.contents.suite}-{digest(_LAYOUT, manifest)}", **manifest}


def main(argv: list[str] | None = None) -> int:
    """The shell's side of this module."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.image", description="Make the lab's images; prints where they are."
    )
    parser.add_argument("--log-dir", type=Path, default=repository() / ".lab" / "log", help="default: .lab/log")
    parser.add_argument("--json", action="store_true", help="print the node's manifest too")
    args = parser.parse_args(argv)
    try:
        images = bake(log_dir=args.log_dir, progress=lambda line: print(line, file=sys.stderr, flush=True))
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    paths = {"bare": str(images.bare), "node": str(images.node), "gateway": str(images.gateway)}
    if args.json:
        print(json.dumps({**paths, **images.manifest, "version": images.version}, indent=2))
    else:
        print("\n".join(f"{name} {path}" for name, path in paths.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
