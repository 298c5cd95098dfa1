"""Provider plugins that an environment and its state need, and stand-ins for plugins that are not installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clouds.registry import cloud_of, clouds
from longhaul.engine.backend import pulumi_home
from longhaul.engine.events import PROVIDERS
from longhaul.terminal.exits import CommandError

if TYPE_CHECKING:
    from components.model import Environment

INSTALL = ".venv/bin/python -m lab.tools plugins"
"""Command that installs plugins by their checksums."""


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A provider plugin, at the version of the installed SDK: the engine accepts no other version."""

    package: str
    version: str

    @property
    def binary(self) -> str:
        """Return the name of its executable."""
        return f"pulumi-resource-{self.package}"

    def installed(self, environ: Mapping[str, str]) -> bool:
        """Return whether the engine finds it on ``PATH``, which it tries first, or in its cache."""
        if shutil.which(self.binary, path=environ.get("PATH")):
            return True
        return (pulumi_home(environ) / "plugins" / f"resource-{self.package}-v{self.version}" / self.binary).exists()


def site_plugins(environment: Environment) -> tuple[Plugin, ...]:
    """Return the plugins of an environment's sites."""
    packages = dict.fromkeys(cloud_of(site).provider for site in environment.sites.values())
    return tuple(sdk_plugin(package) for package in packages if package)


def require(plugins: Iterable[Plugin], environ: Mapping[str, str]) -> None:
    """Raise ``CommandError`` unless all are installed: the engine downloads none by itself."""
    missing = [plugin for plugin in plugins if not plugin.installed(environ)]
    if missing:
        named = ", ".join(f"{plugin.package} {plugin.version}" for plugin in missing)
        words = " ".join((INSTALL, *(plugin.package for plugin in missing)))
        raise CommandError(
            f"the engine has no plugin {named}, and downloads none by itself: `{words}` installs the one with the "
            "checksum in tools.toml. A plugin of your own can be on PATH"
        )


def lookup_plugins(environment: Environment) -> dict[str, Plugin]:
    """Return, for each site that names existing resources, the plugin that looks them up."""
    sites = {name: (cloud_of(site), site) for name, site in environment.sites.items()}
    return {
        name: sdk_plugin(cloud.provider)
        for name, (cloud, site) in sites.items()
        if cloud.provider and cloud.parts.existing_parts(site)
    }


def cluster_plugin() -> Plugin:
    """Return the plugin for the objects on the cluster."""
    return sdk_plugin("kubernetes")


def packages_without_site(environment: Environment) -> frozenset[str]:
    """Return the packages of clouds in which the environment has no site; resources of these packages in the state will
    be deleted."""
    provided = frozenset(cloud.provider for cloud in clouds().values() if cloud.provider)
    return provided - {plugin.package for plugin in site_plugins(environment)}


def required_plugins(state: Mapping[str, Any], packages: frozenset[str]) -> tuple[Plugin, ...]:
    """Return the plugins of the ``packages`` that have resources in a stack's snapshot, at the snapshot's version. The
    engine needs these plugins to delete the resources."""
    plugins: dict[str, Plugin] = {}
    for resource in state.get("resources") or ():
        package = str(resource.get("type", "")).removeprefix(PROVIDERS)
        if package in packages:
            named = (resource.get("inputs") or {}).get("version")
            plugins[package] = Plugin(package=package, version=str(named or _sdk_version(package)))
    return tuple(plugins.values())


def stand_in(missing: tuple[Plugin, ...], *, source: Path, folder: Path) -> tuple[Plugin, ...]:
    """Put stand-ins for the ``missing`` plugins into ``folder``. Other plugins get no stand-in, because a plugin on
    ``PATH`` hides an installed plugin.

    Return the plugins for which there is no stand-in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    without: list[Plugin] = []
    for plugin in missing:
        executable = source / plugin.binary
        if os.access(executable, os.X_OK):
            (folder / plugin.binary).symlink_to(executable)
        else:
            without.append(plugin)
    return tuple(without)


def sdk_plugin(package: str) -> Plugin:
    """Return the plugin that belongs to a package's installed SDK."""
    return Plugin(package=package, version=_sdk_version(package))


def _sdk_version(package: str) -> str:
    try:
        return version(f"pulumi-{package}")
    except PackageNotFoundError:
        return "unknown"
