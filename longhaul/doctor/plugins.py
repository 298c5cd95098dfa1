"""Check of the engine's provider plugins. Those that are missing are fetched before the checks run, which have a time
limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clouds.base.findings import Finding, ok, problem, unknown
from components.model import Environment
from longhaul.engine.location import engine_environment
from longhaul.engine.plugins import MissingPluginError, cluster_plugin, require, site_plugins
from longhaul.project.checkout import Project
from longhaul.project.lab_seam import is_example
from longhaul.terminal.exits import CommandError

HERE = "this machine"


def fetch(
    environment: Environment, environ: Mapping[str, str], *, project: Project, offline: bool
) -> tuple[Finding, ...]:
    """Install the plugins that are missing, and return what the check reports."""
    plugins = (*site_plugins(environment), cluster_plugin())
    if is_example(environment) and not all(plugin.installed(environ) for plugin in plugins):
        return (unknown("plugins of the engine were not fetched for an example, which no cloud has", HERE),)
    try:
        require(plugins, engine_environment(environ), project=project, offline=offline)
    except CommandError as error:
        what, *advice = str(error).splitlines()
        report = unknown if isinstance(error, MissingPluginError) else problem
        return (report(what, HERE, do=" ".join(_stripped(advice))),)
    named = ", ".join(f"{plugin.package} {plugin.version}" for plugin in plugins)
    return (ok(f"the engine has its plugins: {named}", HERE),)


def _stripped(lines: Iterable[str]) -> Iterable[str]:
    return (line.strip() for line in lines)
