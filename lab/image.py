"""Images of the lab: read-only root file systems; every machine's root is an overlay over one of them.

``bare`` is the operating system as a provisioner leaves it. ``node`` is the same after ``playbooks/image.yml``; cloud
machines boot it. ``gateway`` is for the lab's stand-ins for the clouds' VPN gateways. Images are made in layers, each
cached under a digest of its sources, so a changed unit file requires neither a new system nor its packages.
``manifest.json`` beside the node's root lists its content.

From Python: :func:`bake`. From a shell: ``python3 -m lab.image`` prints the paths.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contract.documents.image_manifest import PATH
from lab import base_system, depot, depot_authority
from lab.ansible.runner import ansible_version, play
from lab.signing import KEY
from longhaul.artifacts import image_contents
from longhaul.artifacts.image_contents import Contents
from longhaul.artifacts.serving import served
from longhaul.toolchain import services
from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder, sha256_file, write_json
from longhaul.toolchain.debian import tidy
from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.prune import prune
from longhaul.toolchain.spec import Spec, load, repository
from longhaul.toolchain.trees import copy_system, describe, files_of, lay, link_system

CONTRACT = "usr/local/lib/longhaul/contract"
"""Folder of the contract on a node, where its programs find it (``playbooks/roles/rootfs``)."""

_LAYOUT = 2
"""Version of the result. Raise it when the code below makes a different result from the same sources."""
_PLAYED_FILES = ("image.yml", "filter_plugins/images.py", "filter_plugins/pins.py", "lookup_plugins/tree.py")
"""Files on which the playbook's run depends, besides the roles."""
_LAID = ("upgrades_off", "rootfs", "services", "manifest")
"""Tags of the tasks that copy files to a node whose packages are installed."""
_OF_DEPOT = (
    "apt/sources.list.d/longhaul-depot.list",
    "apt/keyrings/longhaul-depot.asc",
    "apt/apt.conf.d/50longhaul-depot",
    "longhaul/depot-authority.pem",
)
"""Files in /etc with which the roles use a bake's depot; finished images do not have these files."""
_ROLES = {"images": "preloaded_images", "manifest": "image_manifest"}
"""Names of roles by their tasks' tag, where tag and name differ."""


@dataclass(frozen=True, kw_only=True)
class LabImages:
    """The finished images. Nothing may write to them."""

    bare: Path
    node: Path
    gateway: Path
    version: str
    """Version; it changes with the content of any image: a package's version, a binary, a file."""
    manifest: Mapping[str, Any]
    """Manifest of ``node``: its usr/share/longhaul/image.json, with its ``suite`` and its ``files`` (path to the result
    of :func:`longhaul.toolchain.trees.describe`)."""


@dataclass(frozen=True, kw_only=True)
class ImageSources:
    """Sources of the images."""

    contents: Contents
    project: Path
    """A checkout, whose playbooks and images are used."""
    lab_tree: Path
    """Files that are copied over every image: the differences between a lab's machine and a real one."""
    spec: Spec = field(default_factory=load)
    """Pins of the binaries, at the requested versions."""

    @property
    def tree(self) -> Path:
        """Files that ``playbooks/image.yml`` copies to a node, without the contract."""
        return self.project / "images" / "rootfs"

    @property
    def contract(self) -> Path:
        """The contract package, which the machine's programs share with all others."""
        return self.project / "contract"

    def files(self) -> dict[str, Path]:
        """Return every file that is copied to a node, by its path in the root."""
        contract = {f"{CONTRACT}/{name}": path for name, path in files_of([self.contract])}
        return {**dict(files_of([self.tree])), **contract, **dict(files_of([self.lab_tree]))}


def load_sources(
    root: Path | None = None, *, operating_system: str = "", versions: Mapping[str, str] | None = None
) -> ImageSources:
    """Return the sources of a checkout, by default this one. ``operating_system`` replaces the checkout's operating
    system, and ``versions`` replaces default versions of releases."""
    root = root or repository()
    packages = image_contents.load(root, operating_system=operating_system)
    return ImageSources(contents=packages, project=root, lab_tree=root / "lab" / "rootfs", spec=load(versions=versions))


def bake(*, log_dir: Path, progress: Progress, sources: ImageSources | None = None) -> LabImages:
    """Make the images of this checkout, unless they are cached. This needs root if an image has to be made. Raise
    :class:`SetupError` when an image cannot be made."""
    maker = _ImageMaker(sources=sources or load_sources(), log_dir=log_dir, progress=progress)
    bare, gateway = maker.bare(), maker.gateway()
    node = maker.node()
    for gone in prune(cache_root() / "image"):
        progress(f"image: {gone} was not used for long and is gone")
    manifest = json.loads((node / "manifest.json").read_text(encoding="utf-8"))
    version = f"{maker.sources.contents.suite}-{digest(bare.name, gateway.name, manifest)}"
    return LabImages(
        bare=bare / "rootfs", node=node / "rootfs", gateway=gateway / "rootfs", version=version, manifest=manifest
    )


class _ImageMaker:
    def __init__(self, *, sources: ImageSources, log_dir: Path, progress: Progress) -> None:
        self.sources = sources
        self._log_dir = log_dir
        self._progress = progress
        self._base = base_system.ensure(sources.contents, log_dir=log_dir, progress=progress)
        self._depot = depot.ensure(log_dir=log_dir, progress=progress, wanted=sources.contents, spec=sources.spec)
        self._lab_files = dict(files_of([sources.lab_tree]))

    def bare(self) -> Path:
        return self._with_lab_files("bare", self._base)

    def gateway(self) -> Path:
        return self._with_lab_files("gateway", self._played("gateway-packages", ["packages"], {"kind": "gateway"}))

    def node(self) -> Path:
        """Make the node's layers: first packages, binaries and container images (slow, and seldom changed), then the
        files (quick, and often changed)."""
        under = self._played("node-packages", ["packages", "binaries", "images"], {})
        files = self.sources.files()
        described = {name: describe(path) for name, path in files.items()}
        place = self._place("node", under.name, described, services.sources(self.sources.project), self._roles(*_LAID))

        def make(into: Path) -> None:
            base_system.require_root("the image")
            link_system(under / "rootfs", into / "rootfs")
            variables = {
                "rootfs_tree": str(self.sources.tree),
                "rootfs_contract": str(self.sources.contract),
                "services_tree": str(self._services(under / "rootfs")),
                "release": {"sources": place.name.partition("-")[2]},
            }
            self._play(into / "rootfs", list(_LAID), variables)
            lay(self._lab_files, into / "rootfs")
            tidy(into / "rootfs")
            write_json(into / "manifest.json", self._manifest(into / "rootfs", described))

        if ensure_folder(place, make, what="image", progress=self._progress):
            self._progress(f"image: {len(files)} files laid over it")
        return place

    def _services(self, root: Path) -> Path:
        """Make the services' tree on this machine, because the playbook runs without this machine's proxies."""
        return services.ensure(
            python=(root / "usr/bin/python3").readlink().name.removeprefix("python"),
            machine=platform.machine(),
            log_dir=self._log_dir,
            progress=self._progress,
            root=self.sources.project,
        )

    def _played(self, name: str, tags: list[str], variables: Mapping[str, object]) -> Path:
        """Return the base after the playbook's tasks with those tags."""
        preloaded = self.sources.contents.preloaded if "images" in tags else ()
        place = self._place(name, self._base.name, self._depot_parts(tags), variables, preloaded, self._roles(*tags))

        def make(into: Path) -> None:
            base_system.require_root("the image")
            self._progress(f"{name}: playbooks/image.yml over the base image")
            copy_system(self._base / "rootfs", into / "rootfs")
            with served(self._depot, tls=depot_authority.server_context()) as address:
                known = {"depot_key": KEY, "depot_authority": depot_authority.AUTHORITY.read_text(encoding="ascii")}
                baked_variables = {"depot": address, **known, "versions": self.sources.spec.versions}
                self._play(into / "rootfs", tags, {**baked_variables, **variables})
            for of_depot in _OF_DEPOT:
                (into / "rootfs/etc" / of_depot).unlink(missing_ok=True)
            tidy(into / "rootfs")

        ensure_folder(place, make, what=name, progress=self._progress)
        return place

    def _with_lab_files(self, name: str, under: Path) -> Path:
        described = {file: describe(path) for file, path in self._lab_files.items()}
        place = self._place(name, under.name, described)

        def make(into: Path) -> None:
            base_system.require_root("the image")
            link_system(under / "rootfs", into / "rootfs")
            lay(self._lab_files, into / "rootfs")

        ensure_folder(place, make, what=name, progress=self._progress)
        return place

    def _play(self, root: Path, tags: list[str], variables: Mapping[str, object]) -> None:
        playbook = self.sources.project / "playbooks" / "image.yml"
        play(playbook, root=root, tags=tags, variables=variables, log=self._log_dir / "image.log")

    def _place(self, name: str, *made_of: object) -> Path:
        return cache_root() / "image" / f"{name}-{digest(_LAYOUT, *made_of)}"

    def _roles(self, *tags: str) -> dict[str, str]:
        """Return the parts of the playbook on which a layer depends."""
        playbooks = self.sources.project / "playbooks"
        roles = (playbooks / "roles" / _ROLES.get(tag, tag) for tag in tags)
        files = [playbooks / name for name in _PLAYED_FILES] + [path for _, path in files_of(roles)]
        described = {str(path.relative_to(playbooks)): describe(path) for path in files}
        return {"ansible": ansible_version(), **described}

    def _depot_parts(self, tags: list[str]) -> dict[str, str]:
        """Return digests of the depot's parts that the tasks use; a depot's other parts do not count."""
        indexes = {"packages": f"debian/{self.sources.contents.suite}/Release", "binaries": "binaries/SHA256SUMS"}
        indexes["images"] = "images/index.json"
        return {tag: sha256_file(self._depot / indexes[tag]) for tag in tags}

    def _manifest(self, root: Path, files: Mapping[str, str]) -> dict[str, Any]:
        manifest = json.loads((root / PATH.relative_to("/")).read_text(encoding="utf-8"))
        return {**manifest, "suite": self.sources.contents.suite, "files": dict(files)}


def main(argv: list[str] | None = None) -> int:
    """Run the command line of this module."""
    parser = argparse.ArgumentParser(
        prog="python3 -m lab.image", description="Make the lab's images; prints where they are."
    )
    parser.add_argument("--log-dir", type=Path, default=repository() / ".lab" / "log", help="default: .lab/log")
    parser.add_argument(
        "--operating-system",
        default="",
        help="of images/operating_systems.toml; default: image.toml's",
    )
    parser.add_argument("--json", action="store_true", help="print the node's manifest too")
    args = parser.parse_args(argv)
    try:
        sources = load_sources(operating_system=args.operating_system)
        images = bake(
            log_dir=args.log_dir, progress=lambda line: print(line, file=sys.stderr, flush=True), sources=sources
        )
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
