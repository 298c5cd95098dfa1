"""Provider plugins that an environment and its state need: finding them, installing them, and stand-ins for those that
are missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clouds.registry import cloud_of, clouds
from contract.project import PLUGIN_CHECKSUMS
from longhaul.engine.events import PROVIDERS
from longhaul.engine.location import engine_binary, pulumi_home
from longhaul.project.checkout import Project
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment

OFFLINE = "LONGHAUL_OFFLINE"
"""Environment variable that is not empty where no command may fetch a plugin."""


class MissingPluginError(CommandError):
    """A plugin is not installed and cannot be fetched now."""


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

    def installed(self, environ: Mapping[str, str]) -> bool:
        """Return whether the engine finds it on ``PATH`` or in its cache. While it installs a plugin, and after an
        installation that failed or was killed, the engine keeps an empty file beside the plugin's folder (v3.250.0,
        ``pkg/pluginstorage/download.go``)."""
        folder = pulumi_home(environ) / "plugins" / f"resource-{self.package}-v{self.version}"
        partial = folder.with_name(f"{folder.name}.partial")
        return self.on_path(environ) or ((folder / self.binary).exists() and not partial.exists())


def site_plugins(environment: Environment) -> tuple[Plugin, ...]:
    """Return the plugins of an environment's sites."""
    packages = dict.fromkeys(cloud_of(site).provider for site in environment.sites.values())
    return tuple(sdk_plugin(package) for package in packages if package)


def require(plugins: Iterable[Plugin], environ: Mapping[str, str], *, project: Project, offline: bool = False) -> None:
    """Install the plugins that are missing: the engine downloads none by itself. Raise :class:`MissingPluginError` when
    one cannot be had, another ``CommandError`` when one is refused. With ``offline``, ask no server."""
    missing = [plugin for plugin in plugins if not plugin.installed(environ)]
    if not missing:
        return
    from longhaul.toolchain.errors import SetupError
    from longhaul.toolchain.plugin_checksums import ChecksumFile
    from longhaul.toolchain.plugins import PluginInstaller, UnavailableError

    checksums = ChecksumFile(project.stacks / PLUGIN_CHECKSUMS)
    offline = offline or bool(environ.get(OFFLINE))
    installer = PluginInstaller(
        engine=engine_binary(environ), checksums=checksums, progress=say, environ=environ, offline=offline
    )
    try:
        installer.install(
            [(plugin.package, plugin.version) for plugin in missing],
            installed=lambda package, version: Plugin(package=package, version=version).installed(environ),
        )
    except UnavailableError as error:
        left = [plugin for plugin in missing if not plugin.installed(environ)]
        raise MissingPluginError(_missing_text(left, str(error), checksums.path, offline=offline)) from error
    except SetupError as error:
        raise CommandError(str(error)) from error


def _missing_text(missing: list[Plugin], reason: str, checksums: Path, *, offline: bool) -> str:
    from longhaul.toolchain.plugin_sources import source_of
    from longhaul.toolchain.plugins import archives_folder
    from longhaul.toolchain.spec import machine_arch

    named = ", ".join(f"{plugin.package} {plugin.version}" for plugin in missing)
    urls = "\n".join(f"  {source_of(plugin.package).urls(plugin.version, machine_arch())[0]}" for plugin in missing)
    why = f"no server is asked (--offline, {OFFLINE}), and {reason}" if offline else f"it cannot be fetched: {reason}"
    # The first line is complete without the others.
    return (
        f"the engine has no plugin {named}: {why}\n"
        "Run this again where github.com and get.pulumi.com can be reached; HTTPS_PROXY and SSL_CERT_FILE are heeded. "
        f"Or bring the archives into {archives_folder()}, and their checksums into {checksums}; on a machine that "
        f"reaches both, `longhaul doctor` writes them:\n{urls}\n"
        "A plugin of your own can be on PATH"
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
