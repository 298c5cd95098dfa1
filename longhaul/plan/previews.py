"""The engines for a preview: of the real stacks if they exist, else of a new environment. The latter needs no account,
backend or network. Nothing is written permanently."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clouds.base.errors import CloudError
from clouds.registry import clouds
from components.model.policy.judging import PREVIEW_JUDGED
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.project import OBJECTS
from longhaul.cluster.api_access import GIVEN, kubeconfig_file
from longhaul.engine import processes
from longhaul.engine.backend import Backend, current_backend
from longhaul.engine.engine import Engine, objects_file
from longhaul.engine.location import engine_binary, engine_environment
from longhaul.engine.plugin_states import Plugin, PluginState
from longhaul.engine.plugins import (
    MissingPluginError,
    cluster_plugin,
    lookup_plugins,
    packages_without_site,
    plugin_states,
    require,
    required_plugins,
    site_plugins,
    stand_in,
)
from longhaul.engine.records import VARIABLE, RunFile, new_run
from longhaul.engine.throwaway import can_decrypt, copy_stack_file, throwaway_backend, unlogged_home
from longhaul.project.context import Context
from longhaul.project.lab_seam import is_example, stand_ins
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """Reason why the stack of cluster objects is not previewed."""

    stack: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Engines:
    """The engines for one preview of an environment."""

    infrastructure: Engine
    objects: Engine | Unseen
    new: bool
    """True when there is no stack to compare with."""
    stand_ins: frozenset[str]
    """Packages whose plugin a stand-in replaces."""


@contextmanager
def preview_engines(
    where: Context, environment: Environment, *, no_objects: str = "", has_base: bool = False, offline: bool = False
) -> Iterator[Engines]:
    """Give the engines for a preview, valid inside the block. ``no_objects`` is a reason to leave out the stack of
    cluster objects; ``has_base`` means that the earlier file is compared when there is no state; ``offline`` means that
    no missing plugin is fetched."""
    run = new_run("plan")
    with tempfile.TemporaryDirectory(prefix="longhaul-plan-") as folder, ExitStack() as stack:
        engine, stand_ins = _engine(where, environment, Path(folder), has_base=has_base, offline=offline)
        # When the reader of its output goes away (`| head`), the engine ends but leaves its plugins running.
        engine = replace(engine, environ={**engine.environ, VARIABLE: run.id})
        stack.callback(lambda: processes.terminate(run.leftovers()))
        yield Engines(
            infrastructure=engine,
            objects=Unseen(stack=f"{where.env}{OBJECTS}", reason=no_objects)
            if no_objects
            else _objects_engine(where, environment, engine, stack),
            new=engine.backend.url.startswith(f"file://{folder}/"),
            stand_ins=stand_ins,
        )


def _engine(
    where: Context, environment: Environment, folder: Path, *, has_base: bool, offline: bool
) -> tuple[Engine, frozenset[str]]:
    """Return the engine for a preview, and the packages of stand-ins. Everything that it writes goes into ``folder``,
    except plugins that it lacks, which stay."""
    environ = engine_environment(os.environ)
    name = str(where.project.definition()["name"])
    backend = current_backend(where.project.definition(), environ)
    source = where.project.stack_file(where.env)
    real = _is_real(where, name, backend, environ, has_base=has_base)
    if not real:
        environ |= throwaway_backend(folder / "state", project=name, stack=where.env)
        backend = Backend(url=environ["PULUMI_BACKEND_URL"])
    config = folder / source.name
    copy_stack_file(source, config, decrypts=real)
    engine = Engine(
        project=where.project,
        name=name,
        stack=where.env,
        binary=engine_binary(environ),
        environ=environ,
        backend=backend,
        config_file=config,
        records=RunFile(path=folder / "run.json"),
    )
    plugins = (*site_plugins(environment), *(_plugins_of_left_clouds(engine, environment) if real else ()))
    _fetch((*plugins, cluster_plugin()) if real else plugins, where, environment, environ, offline=offline)
    states = plugin_states(plugins, environ, project=where.project)
    replaced = {plugin: why for plugin in plugins if (why := _why_replaced(plugin, states[plugin], environ, real=real))}
    environ |= _replacements(replaced, environ, folder / "plugins") | {PREVIEW_JUDGED: "1"}
    engine = replace(engine, environ={**environ, **unlogged_home(folder / "home", environ)})
    return engine, frozenset(plugin.package for plugin in replaced)


def lookup_notes(environment: Environment, stand_ins: frozenset[str]) -> tuple[str, ...]:
    """Return a sentence for each site whose `existing` resources are not looked up: a stand-in plugin reaches no
    cloud."""
    return tuple(
        f"What sites.{site}.existing names was not looked up: a stand-in replaces the {plugin.package} plugin. "
        "`longhaul doctor` looks it up, with credentials."
        for site, plugin in lookup_plugins(environment).items()
        if plugin.package in stand_ins
    )


def _objects_engine(where: Context, environment: Environment, engine: Engine, stack: ExitStack) -> Engine | Unseen:
    """Return the engine for a preview of the cluster objects, valid while ``stack`` is open. The preview compares with
    the cluster itself, so the stack must exist and the API must answer; otherwise return the reason."""
    name = f"{where.env}{OBJECTS}"
    if replace(engine, stack=name).is_new():
        return Unseen(stack=name, reason="there is no such stack yet")
    try:
        kubeconfig = stack.enter_context(kubeconfig_file(where, environment, os.environ))
        if GIVEN not in os.environ:
            Api.of(json.loads(kubeconfig.read_text(encoding="utf-8"))).get("/version")
    except (CommandError, ApiError) as error:
        return Unseen(stack=name, reason=str(error))
    source = where.project.stack_file(name)
    config = (engine.config_file or source).with_name(source.name)
    if source.exists():
        copy_stack_file(source, config, decrypts=True)
    else:
        config.write_text(objects_file(where.env), encoding="utf-8")
    environ = {**engine.environ, "KUBECONFIG": str(kubeconfig)}
    plugin = cluster_plugin()
    state = plugin_states((plugin,), environ, project=where.project)[plugin]
    if reason := _why_replaced(plugin, state, environ, real=True):
        environ |= _replacements({plugin: reason}, environ, config.parent / "plugins-of-objects")
    return replace(engine, stack=name, config_file=config, environ=environ)


def _is_real(where: Context, name: str, backend: Backend, environ: Mapping[str, str], *, has_base: bool) -> bool:
    """Return whether to compare with the stack in the user's backend; print the decision and its reason."""
    env = where.env
    instead = "the two files alone are compared" if has_base else "this is a preview of a new environment"
    if not backend.url:
        say(f"{env}: no backend is chosen, so {instead}")
        return False
    if backend.folder is not None and backend.state_file(name, env) is None:
        say(f"{env}: {backend.url} has no such stack, so {instead}")
        return False
    if not can_decrypt(where.project.stack_file(env), environ):
        say(f"{env}: no PULUMI_CONFIG_PASSPHRASE, so {instead}, not the state")
        return False
    say(f"{env}: comparing with the stack in {backend.url}")
    return True


def _plugins_of_left_clouds(engine: Engine, environment: Environment) -> tuple[Plugin, ...]:
    """Return the plugins of resources in the stack whose cloud has no site in the environment any more. The engine is
    asked for the state only when such a cloud exists and the backend is not a folder."""
    packages = packages_without_site(environment)
    if not packages:
        return ()
    state = engine.backend.state(engine.name, engine.stack)
    if state is None:
        text = engine.run_or_fail("stack", "export", doing=f"{engine.stack}: its state cannot be read from the backend")
        state = json.loads(text).get("deployment") or {}
    return required_plugins(state, packages)


def _fetch(
    plugins: Sequence[Plugin], where: Context, environment: Environment, environ: Mapping[str, str], *, offline: bool
) -> None:
    """Install the plugins that are missing. A plan can do without: print why one cannot be had, in one line. An example
    needs none, since no cloud has it."""
    if where.lab is not None or is_example(environment):
        return
    try:
        require(plugins, environ, project=where.project, offline=offline)
    except MissingPluginError as error:
        say(str(error).partition("\n")[0])


def _why_replaced(plugin: Plugin, state: PluginState, environ: Mapping[str, str], *, real: bool) -> str:
    """Return why a stand-in replaces a plugin in the preview; empty when none does. A preview of a new environment
    needs no account. The plugins need one: AWS's does not start without credentials (pulumi-aws,
    ``preConfigureCallback``)."""
    if not state.is_usable:
        return state.value
    if real or state is PluginState.ON_PATH:
        return ""
    cloud = next((cloud for cloud in clouds().values() if cloud.provider == plugin.package), None)
    try:
        if cloud is not None:
            cloud.images.credentials(environ, needed=True)
    except CloudError:
        return "finds no credentials here"
    return ""


def _replacements(reasons: Mapping[Plugin, str], environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return variables with which the engine finds a stand-in for each plugin, and print the reasons."""
    if not reasons:
        return {}
    without = stand_in(tuple(reasons), source=stand_ins(), folder=folder)
    for plugin, reason in reasons.items():
        instead = "and has no stand-in either"
        if plugin not in without:
            instead = "so a stand-in previews in its place, which checks nothing against the cloud"
        say(f"{plugin.package} plugin {plugin.version} {reason}, {instead}")
    return {"PATH": os.pathsep.join((str(folder), environ["PATH"]))}
