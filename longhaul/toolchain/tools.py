"""The pinned tools of ``tools.toml``: fetched or built once, and cached by version and sources.

This module needs only Python 3.11: it runs before a virtual environment exists. ``LONGHAUL_TOOLS_FROM`` may be
``download`` or ``module`` to allow only that source.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from longhaul.toolchain.cache import Progress, cache_root, digest, ensure_folder, locked, sha256_file, write_json
from longhaul.toolchain.download import Downloader, UnreachableError
from longhaul.toolchain.errors import SetupError, ToolCommandError
from longhaul.toolchain.golang import Compiler, NoCError, NoGoError, find_compiler, make_binary
from longhaul.toolchain.process import output_of
from longhaul.toolchain.spec import Spec, Tool, load, machine_arch

_SOURCES = {"": ("download", "module"), "download": ("download",), "module": ("module",)}


def ensure(
    names: Iterable[str] = (),
    *,
    log_dir: Path,
    progress: Progress,
    spec: Spec | None = None,
    install_go: Callable[[], object] | None = None,
    install_c: Callable[[], object] | None = None,
) -> dict[str, Path]:
    """Make sure that the named tools are cached, and return the path of each of their binaries by name.

    Names may be of tools, binaries or releases; without names, all tools are meant except the tools on demand. A cached
    tool needs no network and no compiler. ``install_go`` and ``install_c`` are called when a compiler of that language
    is needed and the machine has none. Raise :class:`SetupError` when a tool cannot be fetched or built.
    """
    spec = spec or load()
    maker = _ToolMaker(spec=spec, log_dir=log_dir, progress=progress, install_go=install_go, install_c=install_c)
    binaries: dict[str, Path] = {}
    for tool in spec.select(names):
        place = tool_dir(tool, spec=spec)
        ensure_folder(place, partial(maker.make, tool), what=f"{tool.name} {tool.version}", progress=progress)
        binaries |= {binary.name: place / binary.name for binary in tool.binaries}
    _link(binaries, bin_dir(spec=spec))
    return binaries


def tool_dir(tool: Tool, *, spec: Spec) -> Path:
    """Return the tool's folder in the cache, whether it exists or not. Its name depends on the version and on all
    sources of the tool."""
    sums = [
        path.read_bytes()
        for module in sorted({binary.module for binary in tool.binaries})
        for path in sorted((spec.modules_dir / module).iterdir())
    ]
    return cache_root() / tool.name / tool.version / digest(machine_arch(), spec.go.version, tool.plain(), *sums)


def bin_dir(*, spec: Spec | None = None) -> Path:
    """Return a folder for PATH with a link to every tool of this ``tools.toml`` that :func:`ensure` has provided."""
    spec = spec or load()
    return cache_root() / "bin" / digest([str(tool_dir(tool, spec=spec)) for tool in spec.tools])


def _link(binaries: dict[str, Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder.parent / f".{folder.name}.lock", waiting=lambda: None):
        for name, path in binaries.items():
            link = folder / name
            if not (link.is_symlink() and link.readlink() == path):
                fresh = folder / f".{name}"
                fresh.unlink(missing_ok=True)
                fresh.symlink_to(path)
                fresh.rename(link)


class _ToolMaker:
    """Fetches or builds tools. It remembers facts about this machine."""

    def __init__(
        self,
        *,
        spec: Spec,
        log_dir: Path,
        progress: Progress,
        install_go: Callable[[], object] | None,
        install_c: Callable[[], object] | None,
    ) -> None:
        self._spec = spec
        self._log_dir = log_dir
        self._progress = progress
        self._install_go = install_go
        self._install_c = install_c
        self._downloader = Downloader()
        self._compiler: Compiler | None = None

    def make(self, tool: Tool, into: Path) -> None:
        """Put the tool's binaries, and a note on their origin, into the folder ``into``."""
        began = time.monotonic()
        source = self._get(tool, into)
        self._check(tool, into, source=source)
        note = {
            "tool": tool.name,
            "version": tool.version,
            "source": source,
            "seconds": round(time.monotonic() - began, 1),
            "sha256": {binary.name: sha256_file(into / binary.name) for binary in tool.binaries},
        }
        write_json(into / "tool.json", note)
        self._progress(f"{tool.name} {tool.version}: {source}, {note['seconds']} s")

    def _get(self, tool: Tool, into: Path) -> str:
        chosen = os.environ.get("LONGHAUL_TOOLS_FROM", "")
        if chosen not in _SOURCES:
            raise SetupError(f"LONGHAUL_TOOLS_FROM is {chosen!r}; it can be download or module")
        download = tool.downloads.get(machine_arch())
        reason = "tools.toml has no checksum of an official download for this machine" if download is None else ""
        if download is not None and "download" in _SOURCES[chosen]:
            try:
                self._downloader.fetch(tool, download, into=into)
            except UnreachableError as error:
                reason = str(error)
            else:
                return "downloaded"
        if "module" not in _SOURCES[chosen]:
            raise SetupError(f"{tool.name} {tool.version}: {reason}, and LONGHAUL_TOOLS_FROM forbids building it")
        why = f", since {reason}" if reason else ""
        warning = f"which may take minutes ({self._log(tool)})"
        self._progress(f"{tool.name} {tool.version}: building it from its Go module{why}, {warning}")
        self._build(tool, into)
        return "built"

    def _log(self, tool: Tool) -> Path:
        return self._log_dir / f"tool-{tool.name}.log"

    def _build(self, tool: Tool, into: Path) -> None:
        log = self._log(tool)
        log.parent.mkdir(parents=True, exist_ok=True)
        compiler = self._get_compiler(log)
        make = partial(make_binary, compiler=compiler, modules_dir=self._spec.modules_dir, into=into, log=log)
        for binary in tool.binaries:
            try:
                make(binary)
            except NoCError:
                if self._install_c is None:
                    raise
                self._install_c()
                make(binary)

    def _get_compiler(self, log: Path) -> Compiler:
        if self._compiler is None:
            try:
                self._compiler = find_compiler(self._spec.go, log=log, progress=self._progress)
            except NoGoError:
                if self._install_go is None:
                    raise
                self._install_go()
                self._compiler = find_compiler(self._spec.go, log=log, progress=self._progress)
        return self._compiler

    def _check(self, tool: Tool, into: Path, *, source: str) -> None:
        for binary in tool.binaries:
            if not binary.check:
                continue
            try:
                output = output_of([str(into / binary.name), *binary.check], env={"PULUMI_SKIP_UPDATE_CHECK": "true"})
            except ToolCommandError as error:
                raise SetupError(f"{tool.name} {tool.version} was {source} but does not run: {error}") from error
            if binary.answer not in output.splitlines():
                raise SetupError(
                    f"{binary.name} was {source} but says {output.strip()!r}, not {binary.answer!r}: correct tools.toml"
                )


def listing(spec: Spec | None = None) -> list[dict[str, object]]:
    """Return every tool: its version, whether it is cached and where, and its origin."""
    spec = spec or load()
    rows: list[dict[str, object]] = []
    for tool in spec.tools:
        place = tool_dir(tool, spec=spec)
        note = json.loads((place / "tool.json").read_text(encoding="utf-8")) if place.is_dir() else None
        binaries = [binary.name for binary in tool.binaries]
        row = {
            "tool": tool.name,
            "version": tool.version,
            "binaries": binaries,
            "path": str(place),
            "cached": note is not None,
        }
        rows.append(
            row | ({"source": note["source"], "seconds": note["seconds"], "sha256": note["sha256"]} if note else {})
        )
    return rows
