"""``images/image.toml`` as types: the packages, binaries and container images that machines are made of."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from longhaul.toolchain.errors import SetupError
from longhaul.toolchain.spec import repository

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class ContainerImage:
    """A container image around the one binary of a tool."""

    tool: str
    name: str
    """As pods write it, without the tag."""
    tag: str
    """``{version}`` stands for the tool's version."""
    entrypoint: tuple[str, ...]
    command: tuple[str, ...] = ()
    user: str = ""
    capabilities: tuple[str, ...] = ()
    """File capabilities of the binary, permitted and effective."""
    libraries: tuple[str, ...] = ()
    """Debian packages of the base whose shared libraries the binary needs."""
    gpus: bool = False
    """Whether only environments with GPUs have a use for it."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of the official image, by tag: what its registry is asked for."""
    stand_in: bool = False
    """Whether one that is made of the tool only stands for the official image."""
    lab_only: bool = False
    """Whether only labs have a use for it."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """All of the file."""

    suite: str
    bare: tuple[str, ...]
    """Packages that every machine begins with."""
    node: tuple[str, ...]
    """Packages that the roles add to nodes."""
    gateway: tuple[str, ...]
    """Packages that the roles add to gateways."""
    node_tools: tuple[str, ...]
    host_tools: tuple[str, ...]
    images: tuple[ContainerImage, ...]
    preloaded: tuple[str, ...]
    """Tools of the images that a cloud's nodes have from their bake on."""
    gpu_tools: tuple[str, ...] = ()
    """Of machines with GPUs, beside those; none where nothing for GPUs is wanted."""


def load(root: Path | None = None, *, gpus: bool = False) -> Contents:
    """What a checkout (this one by default) says, with or without what only environments with GPUs need. Raises
    :class:`SetupError`."""
    with reading(root) as raw:
        return Contents(
            suite=raw["suite"],
            **{kind: _names(raw["packages"][kind]) for kind in ("bare", "node", "gateway")},
            node_tools=_names(raw["binaries"]["node"]),
            host_tools=_names(raw["binaries"]["host"]),
            images=tuple(
                _image(tool, entry) for tool, entry in sorted(raw["image"].items()) if gpus or not entry.get("gpus")
            ),
            preloaded=_names(raw["preloaded"]["node"]),
            gpu_tools=_names(raw["binaries"]["gpu"]) if gpus else (),
        )


@contextmanager
def reading(root: Path | None) -> Iterator[dict[str, Any]]:
    """The file; what is wrong with it or with what is taken from it is a :class:`SetupError`."""
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
            raise TypeError(f"{digest!r} is no digest: `sha256:` and 64 hexadecimal digits in lower case")
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
        digests=_digests(raw.get("digest", {})),
        stand_in=raw.get("stand_in", False),
        lab_only=raw.get("lab_only", False),
    )
