"""Check of the engine's provider plugins. Those that are missing are fetched before the checks run, which have a time
limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clouds.base.findings import Finding, ok, problem, unknown
from components.model import Environment
from longhaul.engine.location import engine_environment
from longhaul.engine.plugin_states import Plugin, PluginState
from longhaul.engine.plugins import MissingPluginError, cluster_plugin, plugin_states, require, site_plugins
from longhaul.project.checkout import Project
from longhaul.project.lab_seam import is_example
from longhaul.terminal.exits import CommandError

HERE = "this machine"


def fetch(
    environment: Environment, environ: Mapping[str, str], *, project: Project, offline: bool
) -> tuple[Finding, ...]:
    """Install the plugins that are missing, and return what the check reports."""
    plugins = (*site_plugins(environment), cluster_plugin())
    environ = engine_environment(environ)
    try:
        states = plugin_states(plugins, environ, project=project)
        if is_example(environment) and not all(state.is_usable for state in states.values()):
            return (unknown("plugins of the engine were not fetched for an example, which no cloud has", HERE),)
        require(plugins, environ, project=project, offline=offline)
    except CommandError as error:
        what, *advice = str(error).splitlines()
        report = unknown if isinstance(error, MissingPluginError) else problem
        return (report(what, HERE, do=" ".join(_stripped(advice))),)
    named = ", ".join(_named(plugin, state) for plugin, state in states.items())
    return (ok(f"the engine has its plugins: {named}", HERE),)


def _named(plugin: Plugin, state: PluginState) -> str:
    name = f"{plugin.package} {plugin.version}"
    return f"{name}, which {state.value}" if state is PluginState.ON_PATH else name


def _stripped(lines: Iterable[str]) -> Iterable[str]:
    return (line.strip() for line in lines)
