"""Provider plugins that an environment and its state need: finding them, installing them, and stand-ins for those that
are missing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clouds.registry import cloud_of, clouds
from contract.project import PLUGIN_CHECKSUMS
from longhaul.engine.events import PROVIDERS
from longhaul.engine.location import engine_binary
from longhaul.engine.plugin_states import Plugin, PluginState, plugin_state, refuse_changed
from longhaul.project.checkout import Project
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.toolchain.plugin_checksums import ChecksumFile

OFFLINE = "LONGHAUL_OFFLINE"
"""Environment variable that is not empty where no command may fetch a plugin."""


class MissingPluginError(CommandError):
    """A plugin is not installed and cannot be fetched now."""


def site_plugins(environment: Environment) -> tuple[Plugin, ...]:
    """Return the plugins of an environment's sites."""
    packages = dict.fromkeys(cloud_of(site).provider for site in environment.sites.values())
    return tuple(sdk_plugin(package) for package in packages if package)


def require(plugins: Iterable[Plugin], environ: Mapping[str, str], *, project: Project, offline: bool = False) -> None:
    """Install the plugins that are missing, and those that were compared with no checksum: the engine downloads none by
    itself, and compares none. Raise :class:`MissingPluginError` when one cannot be had, another ``CommandError`` when
    one is refused. With ``offline``, ask no server."""
    plugins = tuple(plugins)
    states = plugin_states(plugins, environ, project=project, refuse=True)
    wanted = [plugin for plugin in plugins if not states[plugin].is_usable]
    if not wanted:
        return
    from longhaul.toolchain.errors import SetupError
    from longhaul.toolchain.plugins import PluginInstaller, UnavailableError

    for plugin in wanted:
        if states[plugin] is PluginState.UNKNOWN:
            say(f"plugin {plugin.package} {plugin.version}: {_strange(plugin, environ)}, so it is installed anew")
    offline = offline or bool(environ.get(OFFLINE))
    checksums = _checksums(project)
    installer = PluginInstaller(
        engine=engine_binary(environ), checksums=checksums, progress=say, environ=environ, offline=offline
    )

    def states_now() -> dict[Plugin, PluginState]:
        return plugin_states(wanted, environ, project=project)

    try:
        installer.install(
            [(plugin.package, plugin.version) for plugin in wanted],
            installed=lambda package, version: states_now()[Plugin(package=package, version=version)].is_usable,
        )
    except UnavailableError as error:
        left = {plugin: state for plugin, state in states_now().items() if not state.is_usable}
        raise MissingPluginError(_missing_text(left, environ, str(error), checksums.path, offline=offline)) from error
    except SetupError as error:
        raise CommandError(str(error)) from error
    plugin_states(wanted, environ, project=project, refuse=True)


def plugin_states(
    plugins: Iterable[Plugin], environ: Mapping[str, str], *, project: Project, refuse: bool = False
) -> dict[Plugin, PluginState]:
    """Return the states of plugins by the project's checksums. With ``refuse``, raise ``CommandError`` when one is not
    the one there."""
    from longhaul.toolchain.errors import SetupError

    checksums = _checksums(project)
    try:
        sums = checksums.read()
        if refuse:
            for plugin in plugins:
                refuse_changed(plugin, environ, sums, checksums=str(checksums.path))
        return {plugin: plugin_state(plugin, environ, sums) for plugin in plugins}
    except SetupError as error:
        raise CommandError(str(error)) from error


def _checksums(project: Project) -> ChecksumFile:
    from longhaul.toolchain.plugin_checksums import ChecksumFile

    return ChecksumFile(project.stacks / PLUGIN_CHECKSUMS)


def _strange(plugin: Plugin, environ: Mapping[str, str]) -> str:
    return f"the one in {plugin.folder(environ)} was compared with no checksum"


def _missing_text(
    missing: Mapping[Plugin, PluginState], environ: Mapping[str, str], reason: str, checksums: Path, *, offline: bool
) -> str:
    from longhaul.toolchain.plugin_sources import source_of
    from longhaul.toolchain.plugins import archives_folder
    from longhaul.toolchain.spec import machine_arch

    named = ", ".join(f"{plugin.package} {plugin.version}" for plugin in missing)
    urls = "\n".join(f"  {source_of(plugin.package).urls(plugin.version, machine_arch())[0]}" for plugin in missing)
    strange = [_strange(plugin, environ) for plugin, state in missing.items() if state is PluginState.UNKNOWN]
    why = f"no server is asked (--offline, {OFFLINE}), and {reason}" if offline else f"it cannot be fetched: {reason}"
    # The first line is complete without the others.
    return (
        f"the engine has no plugin {named}: {'; '.join((*strange, why))}\n"
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
