"""``tools.toml`` as types."""

from __future__ import annotations

import platform
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from longhaul.toolchain.errors import SetupError

_ARCHES = {"x86_64": "amd64", "aarch64": "arm64"}
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Download:
    """An official release file: an archive when ``folder`` is set, else the binary itself."""

    url: str
    sha256: str
    folder: str | None = None
    """Folder in the archive that contains the binaries."""


@dataclass(frozen=True, kw_only=True)
class Binary:
    """One executable, and how to make it from a Go module: either compiled (``package``) or copied out (``file``)."""

    name: str
    module: str
    """Folder below ``tools/`` with the go.mod and go.sum that pin it."""
    package: str = ""
    file: str = ""
    """Import path of a file in one of the module's dependencies."""
    ldflags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    test: bool = False
    """True when the package is a test program, which ``go test`` builds."""
    cgo: bool = False
    """True when the build uses a C compiler. The binary then needs the C library that it was built with, or a newer
    library."""
    check: tuple[str, ...] = ()
    """Arguments that make the binary print its version."""
    answer: str = ""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A unit that is fetched or built, and cached, as a whole."""

    name: str
    release: str
    version: str
    binaries: tuple[Binary, ...]
    downloads: Mapping[str, Download]
    """Downloads by machine architecture."""
    on_demand: bool = False
    """True when it is fetched only by name, since most environments do not need it."""
    also: tuple[str, ...] = ()
    """Further pinned versions of its release."""

    def plain(self) -> dict[str, Any]:
        """Return everything that the tool is made from as plain values, for hashing and printing."""
        document = asdict(self)
        del document["on_demand"], document["also"]
        for binary in document["binaries"]:
            # These keys are left out when false, so that the digests of all other tools stay the same.
            for key in ("cgo", "test"):
                if not binary[key]:
                    del binary[key]
        return document


@dataclass(frozen=True, kw_only=True)
class Go:
    """The pinned compiler."""

    version: str
    sums: Mapping[str, str]
    """The ``h1:`` sum of the module golang.org/toolchain, by machine architecture."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """All of ``tools.toml``."""

    go: Go
    tools: tuple[Tool, ...]
    modules_dir: Path
    """The folder ``tools/``: one folder with a Go module for each family."""

    @property
    def versions(self) -> dict[str, str]:
        """Return the version of each release."""
        return {tool.release: tool.version for tool in self.tools}

    def select(self, names: Iterable[str]) -> tuple[Tool, ...]:
        """Return the tools that ``names`` (of tools, binaries or releases) select, each once. Without names, return all
        tools except the tools on demand."""
        wanted = list(names)
        if not wanted:
            return tuple(tool for tool in self.tools if not tool.on_demand)
        unknown = [name for name in wanted if not any(_means(tool, name) for tool in self.tools)]
        if unknown:
            known = ", ".join(tool.name for tool in self.tools)
            raise SetupError(f"tools.toml has no {', '.join(unknown)}. It has: {known}.")
        return tuple(tool for tool in self.tools if any(_means(tool, name) for name in wanted))


def _means(tool: Tool, name: str) -> bool:
    return name in (tool.name, tool.release) or any(binary.name == name for binary in tool.binaries)


def repository() -> Path:
    """Return the checkout that contains this module."""
    return Path(__file__).resolve().parents[2]


def machine_arch() -> str:
    """Return this machine's architecture by Go's name."""
    machine = platform.machine()
    return _ARCHES.get(machine, machine)


def tools_document(path: Path) -> dict[str, Any]:
    """Return the content of ``tools.toml``. Raise :class:`SetupError` when it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise SetupError(f"{path}: {error}") from error


def load(path: Path | None = None, *, versions: Mapping[str, str] | None = None) -> Spec:
    """Read ``tools.toml``; ``tools/`` is beside it. ``versions`` chooses, by release, a version other than the default.
    Raise :class:`SetupError` when the file is invalid, or does not pin a chosen version."""
    chosen = versions or {}
    path = path or repository() / "tools.toml"
    raw = tools_document(path)
    try:
        go = Go(version=raw["go"]["version"], sums=raw["go"]["sums"])
        tools = tuple(
            _tool(name, value, release=release, common=common, version=chosen.get(release, common["version"]))
            for release, common in raw["release"].items()
            for name, value in common["tool"].items()
        )
    except KeyError as error:
        raise SetupError(f"{path}: the key {error} is missing somewhere; compare with its other entries") from error
    except TypeError as error:
        raise SetupError(f"{path}: {error}") from error
    return Spec(go=go, tools=tools, modules_dir=path.parent / "tools")


def _tool(name: str, raw: dict[str, Any], *, release: str, common: dict[str, Any], version: str) -> Tool:
    pinned = (common["version"], *common.get("also", ()))
    if version not in pinned:
        raise SetupError(f"tools.toml has no {release} {version}; it has {', '.join(pinned)}")
    downloads = {
        arch: _download(value, name=name, version=version, pinned=pinned[0])
        for arch, value in raw.get("download", {}).items()
    }
    return Tool(
        name=name,
        release=release,
        version=version,
        binaries=tuple(_binary(key, value, common=common, version=version) for key, value in raw["binary"].items()),
        downloads={arch: download for arch, download in downloads.items() if download is not None},
        on_demand=raw.get("on_demand", common.get("on_demand", False)),
        also=tuple(other for other in pinned if other != version),
    )


def _download(raw: dict[str, Any], *, name: str, version: str, pinned: str) -> Download | None:
    """Return the download of a version; None without a checksum for it."""
    also = raw.get("also", {})
    sha256 = raw["sha256"] if version == pinned else also.get(version)
    if sha256 is None:
        return None
    if not _SHA256.fullmatch(sha256):
        raise SetupError(
            f"tools.toml: {name}: `sha256` must be 64 hexadecimal digits; leave the download out if it is not known"
        )
    words = {key: value.format(version=version) for key, value in raw.items() if key not in ("also", "sha256")}
    return Download(**words, sha256=sha256)


def _binary(name: str, raw: dict[str, Any], *, common: dict[str, Any], version: str) -> Binary:
    words = {"version": version, "minor": version.split(".")[1]}
    of_version = "" if version == common["version"] else f"-{version}"
    return Binary(
        name=name,
        module=f"{raw['module']}{of_version}",
        package=raw.get("package", ""),
        file=raw.get("file", ""),
        ldflags=tuple(flag.format(**words) for flag in (*common.get("ldflags", ()), *raw.get("ldflags", ()))),
        tags=(*common.get("tags", ()), *raw.get("tags", ())),
        test=raw.get("test", False),
        cgo=raw.get("cgo", False),
        check=tuple(raw.get("check", ())),
        answer=raw.get("answer", "").format(**words),
    )
