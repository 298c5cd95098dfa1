"""``longhaul preview``: show what ``up`` would do, without an account, a backend or a network."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from components.model.policy import PREVIEW_JUDGED
from longhaul.cluster import GIVEN, kubeconfig_file
from longhaul.context import Context, context, enter_lab
from longhaul.engine import processes
from longhaul.engine.backend import Backend, current_backend
from longhaul.engine.change import exit_code
from longhaul.engine.digest import Preview, parse_preview
from longhaul.engine.engine import Engine, objects_file
from longhaul.engine.locate import engine_binary, engine_environment
from longhaul.engine.plugins import Plugin, held, left_out, needed, of_cluster, of_existing, stand_in
from longhaul.engine.runs import VARIABLE, Records, new_run
from longhaul.engine.throwaway import can_decrypt, copy_stack_file, throwaway_backend, unlogged_home
from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from longhaul.kubernetes.api import Api
from longhaul.kubernetes.connection import ApiError
from longhaul.lab_seam import stand_ins
from longhaul.project import OBJECTS
from longhaul.report.programs import line
from longhaul.say import say

if TYPE_CHECKING:
    from components.model import Environment

HELP = "show what `up` would do; needs no account, backend or network, and changes nothing"
TAKES_REST = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``preview``."""
    parser.add_argument("--json", action="store_true", help="the counts, as one line of JSON")


def run(invocation: Invocation) -> int:
    """Check the file and run the engine's preview, against the real stacks if there are any."""
    begun, run = time.monotonic(), new_run("preview")
    where = context(invocation)
    environment = where.project.load(where.env)
    if where.lab is not None and where.lab.is_up():
        enter_lab(where, environment, invocation)
    with tempfile.TemporaryDirectory(prefix="longhaul-preview-") as folder, ExitStack() as stack:
        engine = preview_engine(where, environment, Path(folder))
        # When its reader goes away (`| head`), the engine ends but leaves its plugins running.
        engine = replace(engine, environ={**engine.environ, VARIABLE: run.id})
        stack.callback(lambda: processes.end(run.leftovers()))
        for line in not_looked_up(environment):
            say(f"{where.env}: {line}")
        found = objects_engine(where, environment, engine, stack)
        if isinstance(found, Unseen):
            say(f"{found.stack}: not looked at: {found.reason}")
        objects = None if isinstance(found, Unseen) else found
        if invocation.options.json:
            return _as_json(engine, objects, invocation.rest, begun)
        code = _shown(engine, invocation.rest)
        return code if objects is None or code is not Exit.OK else _shown(objects, invocation.rest)


def preview_engine(where: Context, environment: Environment, folder: Path) -> Engine:
    """Return the engine for a preview. Everything that it writes goes into ``folder``."""
    environ = engine_environment(os.environ)
    name = str(where.project.definition()["name"])
    backend = current_backend(where.project.definition(), environ)
    source = where.project.stack_file(where.env)
    real = _is_real(where, name, backend, environ)
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
        records=Records(path=folder / "run.json"),
    )
    plugins = (*needed(environment), *(_held(engine, environment) if real else ()))
    environ |= _plugins(plugins, environ, folder / "plugins") | {PREVIEW_JUDGED: "1"}
    return replace(engine, environ={**environ, **unlogged_home(folder / "home", environ)})


def not_looked_up(environment: Environment) -> tuple[str, ...]:
    """Return a sentence for each site whose `existing` parts are not looked up: a stand-in plugin reaches no cloud."""
    return tuple(
        f"What sites.{site}.existing names was not looked up: the {plugin.package} plugin is not installed. `longhaul "
        "doctor` looks it up, with credentials."
        for site, plugin in of_existing(environment).items()
        if not plugin.installed(engine_environment(os.environ))
    )


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """Reason why the stack of cluster objects is not looked at."""

    stack: str
    reason: str


def objects_engine(where: Context, environment: Environment, engine: Engine, stack: ExitStack) -> Engine | Unseen:
    """Return the engine for a preview of the cluster objects, valid while ``stack`` is open. It is compared with the
    cluster itself, so the stack must exist and the API must answer; otherwise return the reason."""
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
    environ |= _plugins((of_cluster(),), environ, config.parent / "plugins-of-objects")
    return replace(engine, stack=name, config_file=config, environ=environ)


def _is_real(where: Context, name: str, backend: Backend, environ: Mapping[str, str]) -> bool:
    """Return whether to compare with the stack in the user's backend; say the decision and its reason."""
    env = where.env
    if not backend.url:
        say(f"{env}: no backend is chosen, so this is a preview of a new environment")
        return False
    if backend.folder is not None and backend.state_file(name, env) is None:
        say(f"{env}: {backend.url} has no such stack, so this is a preview of a new environment")
        return False
    if not can_decrypt(where.project.stack_file(env), environ):
        say(f"{env}: no PULUMI_CONFIG_PASSPHRASE, so this is a preview of a new environment, not of the changes")
        return False
    say(f"{env}: comparing with the stack in {backend.url}")
    return True


def _held(engine: Engine, environment: Environment) -> tuple[Plugin, ...]:
    """Return the plugins of resources that the stack still has in clouds which the environment has left. The engine is
    asked for the state only when a cloud has no site and the backend is no folder."""
    packages = left_out(environment)
    if not packages:
        return ()
    state = engine.backend.state(engine.name, engine.stack)
    if state is None:
        text = engine.must("stack", "export", doing=f"{engine.stack}: its state cannot be read from the backend")
        state = json.loads(text).get("deployment") or {}
    return held(state, packages)


def _plugins(plugins: Sequence[Plugin], environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return variables that make the engine find a stand-in for each plugin that is not installed. Say which."""
    missing = tuple(plugin for plugin in plugins if not plugin.installed(environ))
    if not missing:
        return {}
    without = stand_in(missing, source=stand_ins(), folder=folder)
    for plugin in missing:
        say(_stand_in_line(plugin) if plugin not in without else _missing_line(plugin))
    variables = {"PATH": os.pathsep.join((str(folder), environ["PATH"]))}
    return variables if without else {**variables, "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true"}


def _stand_in_line(plugin: Plugin) -> str:
    return (
        f"{plugin.package} plugin {plugin.version} is not installed: previewing with the stand-in, which checks "
        f"nothing against the cloud; install with `pulumi plugin install resource {plugin.package} {plugin.version}`"
    )


def _missing_line(plugin: Plugin) -> str:
    return f"{plugin.package} plugin {plugin.version} is not installed; the engine will try to download it"


def _words(engine: Engine, rest: Sequence[str]) -> list[str]:
    return [*engine.argv("preview", configured=True), "--suppress-outputs", *rest]


def _shown(engine: Engine, rest: Sequence[str]) -> Exit:
    return exit_code(engine.run(_words(engine, rest)))


def _as_json(engine: Engine, objects: Engine | None, rest: Sequence[str], begun: float) -> Exit:
    """Print one line: the counts of the environment's stack, and under ``objects`` those of the cluster objects."""
    counts = _counted(engine, rest)
    if counts is None:
        return Exit.FAILED
    digest = asdict(counts.digest(seconds=time.monotonic() - begun))
    if objects is not None:
        begun = time.monotonic()
        counts = _counted(objects, rest)
        if counts is None:
            return Exit.FAILED
        digest["objects"] = asdict(counts.digest(seconds=time.monotonic() - begun))
    print(line(digest))
    return Exit.OK


def _counted(engine: Engine, rest: Sequence[str]) -> Preview | None:
    """Return the counts of a stack's preview; None when it failed, after printing its errors."""
    with tempfile.TemporaryFile() as file:
        result = engine.run([*_words(engine, rest), "--json"], stdout=file)
        file.seek(0)
        text = file.read().decode()
    preview = parse_preview(text)
    if result.code == 0 and preview is not None:
        return preview
    for error in preview.errors if preview else [text.strip()]:
        if error:
            print(error, file=sys.stderr)
    if result.interrupted:
        raise KeyboardInterrupt
    return None
