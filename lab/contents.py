"""``images/image.toml`` as types: the packages, binaries and container images that machines are made of."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.toolchain.errors import SetupError
from lab.toolchain.spec import repository


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


def load(root: Path | None = None) -> Contents:
    """What a checkout (this one by default) says. Raises :class:`SetupError`."""
    path = (root or repository()) / "images" / "image.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        return Contents(
            suite=raw["suite"],
            **{kind: _names(raw["packages"][kind]) for kind in ("bare", "node", "gateway")},
            node_tools=_names(raw["binaries"]["node"]),
            host_tools=_names(raw["binaries"]["host"]),
            images=tuple(_image(tool, entry) for tool, entry in sorted(raw["image"].items())),
        )
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise SetupError(f"{path}: {error}") from error
    except KeyError as error:
        raise SetupError(f"{path}: the key {error} is missing") from error


def _names(raw: list[str]) -> tuple[str, ...]:
    return tuple(sorted(raw))


def _image(tool: str, raw: Mapping[str, Any]) -> ContainerImage:
    return ContainerImage(
        tool=tool,
        name=raw["name"],
        tag=raw["tag"],
        entrypoint=tuple(raw["entrypoint"]),
        command=tuple(raw.get("command", ())),
        user=raw.get("user", ""),
        capabilities=tuple(raw.get("capabilities", ())),
    )
