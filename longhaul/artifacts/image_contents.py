"""``images/image.toml`` as types: the packages, binaries and container images of machines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.operating_systems import OperatingSystem, by_name
from longhaul.toolchain.spec import repository

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class System:
    """Content of a container image that is a whole system, besides its binary."""

    packages: tuple[str, ...]
    """Debian packages, which are installed with their dependencies."""
    folders: tuple[str, ...] = ()
    """Folders to create, empty."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links: path to target."""
    users: Mapping[str, int] = field(default_factory=dict)
    """Users: name to number. Each has a group of the same name and number."""
    groups: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Further groups: name to number and the name of one member."""


@dataclass(frozen=True, kw_only=True)
class ContainerImage:
    """A container image around the one binary of a tool."""

    tool: str
    name: str
    """Name without the tag, as pods write it."""
    tag: str
    """Tag, in which ``{version}`` stands for the tool's version."""
    entrypoint: tuple[str, ...]
    command: tuple[str, ...] = ()
    user: str = ""
    capabilities: tuple[str, ...] = ()
    """File capabilities of the binary, permitted and effective."""
    libraries: tuple[str, ...] = ()
    """Debian packages of the base whose shared libraries the binary needs."""
    gpus: bool = False
    """True when only environments with GPUs use it."""
    rdma: bool = False
    """True when only environments with InfiniBand or RoCE use it."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Digests of the official image by tag, for pulling it from its registry."""
    stand_in: bool = False
    """True when the image made from the tool is only a stand-in for the official image."""
    lab_only: bool = False
    """True when only labs use it."""
    system: System | None = None
    """None when the image contains its binary alone."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The parsed file."""

    operating_system: OperatingSystem
    bare: tuple[str, ...]
    """Packages that every machine has from the start."""
    node: tuple[str, ...]
    """Packages that the roles add to nodes."""
    gateway: tuple[str, ...]
    """Packages that the roles add to gateways."""
    node_tools: tuple[str, ...]
    host_tools: tuple[str, ...]
    images: tuple[ContainerImage, ...]
    preloaded: tuple[str, ...]
    """Tools whose images are baked into the images of clouds' nodes."""
    rdma: tuple[str, ...] = ()
    """Additional packages of machines with RDMA networks; empty when parts for RDMA are not loaded."""
    gpu_tools: tuple[str, ...] = ()
    """Additional tools of machines with GPUs; empty when parts for GPUs are not loaded."""

    @property
    def suite(self) -> str:
        """Return the name of the operating system's release in archives."""
        return self.operating_system.suite


def load(root: Path | None = None, *, gpus: bool = False, rdma: bool = False, operating_system: str = "") -> Contents:
    """Read the file of a checkout (by default this one), for the given operating system, or else for the operating
    system that the file names. ``gpus`` and ``rdma`` include the parts for environments with GPUs and with InfiniBand
    or RoCE. Raise :class:`SetupError` when the file is invalid."""
    with reading(root) as raw:
        of = by_name(operating_system or raw["operating_system"], root)
        return Contents(
            operating_system=of,
            bare=_names([*raw["packages"]["bare"], *of.bare]),
            **{kind: _names(raw["packages"][kind]) for kind in ("node", "gateway")},
            node_tools=_names(raw["binaries"]["node"]),
            host_tools=_names([*raw["binaries"]["host"], *raw["binaries"]["host_with_depot"]]),
            images=tuple(
                image
                for image in (_image(tool, entry) for tool, entry in sorted(raw["image"].items()))
                if (gpus or not image.gpus) and (rdma or not image.rdma)
            ),
            preloaded=_names(raw["preloaded"]["node"]),
            rdma=_names(raw["packages"]["rdma"]) if rdma else (),
            gpu_tools=_names(raw["binaries"]["gpu"]) if gpus else (),
        )


@contextmanager
def reading(root: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the parsed file. Raise :class:`SetupError` for errors in the file, also for those that the block finds."""
    path = (root or repository()) / "images" / "image.toml"
    try:
        yield tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise SetupError(f"{path}: {error}") from error
    except KeyError as error:
        raise SetupError(f"{path}: the key {error} is missing") from error


def _names(raw: list[str]) -> tuple[str, ...]:
    return tuple(sorted(raw))


def _digests(raw: Mapping[str, str]) -> dict[str, str]:
    for digest in raw.values():
        if not DIGEST.fullmatch(digest):
            raise TypeError(f"{digest!r} is not a digest: `sha256:` and 64 hexadecimal digits in lower case")
    return dict(raw)


def _image(tool: str, raw: Mapping[str, Any]) -> ContainerImage:
    return ContainerImage(
        tool=tool,
        name=raw["name"],
        tag=raw["tag"],
        entrypoint=tuple(raw["entrypoint"]),
        command=tuple(raw.get("command", ())),
        user=raw.get("user", ""),
        capabilities=tuple(raw.get("capabilities", ())),
        libraries=tuple(raw.get("libraries", ())),
        gpus=raw.get("gpus", False),
        rdma=raw.get("rdma", False),
        digests=_digests(raw.get("digest", {})),
        stand_in=raw.get("stand_in", False),
        lab_only=raw.get("lab_only", False),
        system=_system(raw) if "packages" in raw else None,
    )


def _system(raw: Mapping[str, Any]) -> System:
    if not raw.get("lab_only", False):
        raise TypeError(f"{raw['name']} has packages, which only images of labs may have")
    return System(
        packages=_names(raw["packages"]),
        folders=_names(raw.get("folders", [])),
        links=dict(raw.get("links", {})),
        users=dict(raw.get("users", {})),
        groups={name: (group["number"], group["member"]) for name, group in raw.get("groups", {}).items()},
    )
