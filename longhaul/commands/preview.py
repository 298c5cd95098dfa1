"""``longhaul preview``: what ``up`` would do, without an account, a backend or a route to anything."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.cli import Invocation
from longhaul.context import Context, context, enter_lab
from longhaul.engine.backend import Backend, current_backend
from longhaul.engine.change import exit_code
from longhaul.engine.digest import parse_preview
from longhaul.engine.engine import Engine
from longhaul.engine.locate import engine_binary, engine_environment
from longhaul.engine.plugins import Plugin, needed, stand_in
from longhaul.engine.run import Result
from longhaul.engine.runs import Records
from longhaul.engine.throwaway import can_decrypt, copy_stack_file, throwaway_backend
from longhaul.exits import Exit
from longhaul.lab_seam import stand_ins
from longhaul.say import say

if TYPE_CHECKING:
    from components.model import Environment

HELP = "show what `up` would do; needs no account, backend or network, and changes nothing"
TAKES_REST = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of ``preview``."""
    parser.add_argument("--json", action="store_true", help="the counts, as one line of JSON")


def run(invocation: Invocation) -> int:
    """Check the file and run the engine's preview, against the real stack where there is one."""
    begun = time.monotonic()
    where = context(invocation)
    environment = where.project.load(where.env)
    if where.lab is not None and where.lab.is_up():
        enter_lab(where, environment, invocation)
    with tempfile.TemporaryDirectory(prefix="longhaul-preview-") as folder:
        engine = preview_engine(where, environment, Path(folder))
        return _preview(engine, invocation, Path(folder), begun)


def preview_engine(where: Context, environment: Environment, folder: Path) -> Engine:
    """The engine for a preview, with whatever it writes going into ``folder``."""
    environ = engine_environment(os.environ)
    environ |= _plugins(environment, environ, folder / "plugins")
    name = str(where.project.definition()["name"])
    backend = current_backend(where.project.definition(), environ)
    source = where.project.stack_file(where.env)
    real = _is_real(where, name, backend, environ)
    if not real:
        environ |= throwaway_backend(folder / "state", project=name, stack=where.env)
        backend = Backend(url=environ["PULUMI_BACKEND_URL"])
    config = folder / source.name
    copy_stack_file(source, config, decrypts=real)
    return Engine(
        project=where.project,
        name=name,
        stack=where.env,
        binary=engine_binary(environ),
        environ=environ,
        backend=backend,
        config_file=config,
        records=Records(path=folder / "run.json"),
    )


def _is_real(where: Context, name: str, backend: Backend, environ: Mapping[str, str]) -> bool:
    """Whether to compare with the stack in the user's backend; says which way it goes, and why."""
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


def _plugins(environment: Environment, environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Variables that make the engine find a stand-in for each plugin that is not installed; says so."""
    missing = tuple(plugin for plugin in needed(environment) if not plugin.installed(environ))
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


def _preview(engine: Engine, invocation: Invocation, folder: Path, begun: float) -> int:
    words = [*engine.argv("preview", configured=True), "--suppress-outputs", *invocation.rest]
    if not invocation.options.json:
        return exit_code(engine.run(words))
    output = folder / "preview.json"
    with output.open("wb") as file:
        result = engine.run([*words, "--json"], stdout=file)
    return _report(result, output.read_text(encoding="utf-8"), begun)


def _report(result: Result, text: str, begun: float) -> int:
    preview = parse_preview(text)
    code = exit_code(result)
    if code is Exit.OK and preview is not None:
        print(preview.digest(seconds=time.monotonic() - begun).to_json())
        return code
    for error in preview.errors if preview else [text.strip()]:
        if error:
            print(error, file=sys.stderr)
    return code if code is not Exit.OK else Exit.FAILED
