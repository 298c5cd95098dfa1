"""Provider plugins, and their states in the engine's home. What lies there is used only if it was compared.

This protects from what others put there without comparing it: the engine's own downloads for other projects, a restored
cache, a copied home. It does not protect from a program that acts as the user: such a program can change Longhaul
itself.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from longhaul.engine.location import pulumi_home
from longhaul.terminal.exits import CommandError
from longhaul.toolchain.plugin_executables import installed_digest, twins
from longhaul.toolchain.plugin_sources import source_of
from longhaul.toolchain.spec import machine_arch


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A provider plugin, at the version of the installed SDK: the engine accepts no other version."""

    package: str
    version: str

    @property
    def binary(self) -> str:
        """Return the name of its executable."""
        return f"pulumi-resource-{self.package}"

    def on_path(self, environ: Mapping[str, str]) -> bool:
        """Return whether it is on ``PATH``, which the engine tries first."""
        return shutil.which(self.binary, path=environ.get("PATH")) is not None

    def folder(self, environ: Mapping[str, str]) -> Path:
        """Return its folder in the engine's home."""
        return pulumi_home(environ) / "plugins" / f"resource-{self.package}-v{self.version}"

    def installed(self, environ: Mapping[str, str]) -> bool:
        """Return whether it is in the engine's home. While it installs a plugin, and after an installation that failed
        or was killed, the engine keeps an empty file beside the plugin's folder (v3.250.0,
        ``pkg/pluginstorage/download.go``)."""
        folder = self.folder(environ)
        return (folder / self.binary).is_file() and not folder.with_name(f"{folder.name}.partial").exists()


class PluginState(Enum):
    """State of a plugin. The values complete a sentence about the plugin."""

    ON_PATH = "is on PATH, and was compared with nothing"
    COMPARED = "is the one in the project's file of checksums"
    MISSING = "is not installed"
    UNKNOWN = "was compared with no checksum"
    CHANGED = "is not the one in the project's file of checksums"

    @property
    def is_usable(self) -> bool:
        """Return whether the engine may run the plugin."""
        return self in (PluginState.ON_PATH, PluginState.COMPARED)


def plugin_state(plugin: Plugin, environ: Mapping[str, str], sums: Mapping[str, str]) -> PluginState:
    """Return a plugin's state. ``sums`` are the project's checksums."""
    if plugin.on_path(environ):
        return PluginState.ON_PATH
    if not plugin.installed(environ):
        return PluginState.MISSING
    expected = sums.get(source_of(plugin.package).executable(plugin.version, machine_arch()))
    if next(twins(plugin.folder(environ)), None) is not None:
        return PluginState.CHANGED
    if expected is None:
        return PluginState.UNKNOWN
    actual = installed_digest(plugin.folder(environ) / plugin.binary)
    return PluginState.COMPARED if actual == expected else PluginState.CHANGED


def refuse_changed(plugin: Plugin, environ: Mapping[str, str], sums: Mapping[str, str], *, checksums: str) -> None:
    """Raise ``CommandError`` if the engine would run another executable than the one in the file ``checksums``."""
    if plugin_state(plugin, environ, sums) is not PluginState.CHANGED:
        return
    folder, title = plugin.folder(environ), f"plugin {plugin.package} {plugin.version}"
    for other in twins(folder):
        raise CommandError(
            f"{title}: the engine would run the one in {other}, which it takes for this version, so nothing is run\n"
            "Remove that folder: Longhaul makes none of such a name"
        )
    executable = folder / plugin.binary
    raise CommandError(
        f"{title}: {executable} is not the one in {checksums}, so nothing is run\n"
        f"  {sums[source_of(plugin.package).executable(plugin.version, machine_arch())]}  says {checksums}\n"
        f"  {installed_digest(executable)}  has the file\n"
        f"Do not trust that file: ask who put it there. If somebody has changed the line, `git log -p` shows who. The "
        f"next run installs the plugin anew once {folder} is removed"
    )
