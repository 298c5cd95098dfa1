"""``longhaul destroy``: take the whole environment down."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from longhaul.engine import plugins
from longhaul.engine.change import change
from longhaul.engine.engine import Engine, engine_for, failure_reason
from longhaul.engine.events import STACK
from longhaul.engine.execution import interruptible
from longhaul.engine.options import create_log, refuse_event_log, typed_command, wants_json
from longhaul.engine.pending import Pending, forget, pending_creates, stack_state
from longhaul.engine.phase_outcome import PhaseResult, attempt, engine_phase_result, summary
from longhaul.engine.recovery import recover
from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.confirm import require_consent
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.option_types import add_verbose
from longhaul.terminal.output import Output
from longhaul.terminal.progress import Progress
from longhaul.terminal.say import ask, say

if TYPE_CHECKING:
    from components.model import Environment

HELP = "take the whole environment down; its file must say `destroyable: true`"
REST = "ENGINE_OPTION"

CONTAINED = ("azure-native:", "pulumi-python:dynamic")
"""Types of resources that are deleted with their resource group, or that are only an action."""

GROUP = "azure-native:resources:ResourceGroup"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``destroy``."""
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask for the environment's name")
    parser.add_argument("--json", action="store_true", help="the engine's events and result as JSON")
    parser.add_argument("--remove", action="store_true", help="afterwards also remove the stack and its history")
    add_verbose(parser)


def run(invocation: Invocation) -> int:
    """Check that the environment may be destroyed, ask, and run the engine with the program: the program's hooks guard
    the etcd clusters."""
    began = time.monotonic()
    where = context(invocation)
    environment = where.project.load(where.env)
    options = invocation.options
    if not environment.destroyable:
        raise CommandError(
            f"{where.env} may not be destroyed: {where.project.stack_file(where.env)} does not say `destroyable: true`"
            f". To destroy it, write that, run `longhaul up --env {where.env}`, then run this again"
        )
    require_consent(yes=options.yes)
    refuse_event_log(invocation.rest)
    enter_lab(where, environment, invocation)
    engine = engine_for(where, {**os.environ, "LONGHAUL_DESTROY": where.env})
    if engine.has_stack() is False:
        say(f"{where.env} has no stack in {engine.backend.url}: there is nothing to destroy")
        return Exit.OK
    plugins.require(plugins.site_plugins(environment), engine.environ, project=where.project)
    if not options.yes:
        _confirm(where.env)
    with interruptible():
        log = create_log(where, invocation)
        output = Output(log=log, terminal=log is None, json=wants_json(options, invocation.rest))
        progress = Progress(title="destruction", output=output, began=began)
        engine = replace(engine, progress=progress)
        outcome = attempt(progress, lambda: _destroy(engine, where, environment, invocation))
    output.tell(summary([outcome], wanted=f"{where.env} is destroyed", again=typed_command(invocation), log=log))
    return outcome.code


def _destroy(engine: Engine, where: Context, environment: Environment, invocation: Invocation) -> PhaseResult:
    from longhaul.vault.quarantine import has_list, refuse_kept

    objects = engine_for(where, objects=True)
    recover(objects)
    recover(engine)
    if has_list(stack_state(engine)):
        refuse_kept(environment)
    done = _take_down(engine, invocation)
    if done.code is Exit.OK:
        if invocation.options.remove:
            # The engine deletes the environment's file unless --preserve-config is given.
            removing = f"the stack {engine.stack} cannot be removed"
            engine.run_or_fail("stack", "rm", "--yes", "--preserve-config", doing=removing)
            say(f"the stack {engine.stack} is removed; its file is kept")
        _forget_objects(objects)
        _free_vault(environment)
    return done


def _forget_objects(engine: Engine) -> None:
    """Remove the state of the objects' stack: its resources went with the cluster, and the next cluster begins
    empty."""
    if engine.has_stack() is False:
        return
    done = engine.ask("stack", "rm", "--yes", "--force", "--preserve-config")
    if done.returncode != 0 and "no stack named" not in done.stderr:
        raise CommandError(f"the state of {engine.stack} cannot be removed: {failure_reason(done)}")


def _take_down(engine: Engine, invocation: Invocation) -> PhaseResult:
    if _is_empty(engine):
        say(f"the stack {engine.stack} holds nothing: it is destroyed already")
        return PhaseResult(code=Exit.OK)
    pending = pending_creates(engine)
    _refuse_unknown(engine, pending)
    json_words = ["--json"] if wants_json(invocation.options, invocation.rest) else []
    words = ["--yes", "--run-program", "--suppress-outputs", *json_words, *invocation.rest]
    done = engine_phase_result(engine, change(engine, "destroy", words))
    if done.code is Exit.OK and pending:
        forget(engine)
    return done


def _is_empty(engine: Engine) -> bool:
    """Return whether the state is readable here and holds no resource and no pending operation."""
    state = engine.backend.state(engine.name, engine.stack)
    if state is None or state.get("pending_operations"):
        return False
    return all(resource["type"] == STACK for resource in state.get("resources") or [])


def _free_vault(environment: Environment) -> None:
    """Have the cloud purge the vault, so that the environment can be made again at once. A failure is only reported:
    the destruction itself is done."""
    from clouds.base.errors import CloudError
    from clouds.registry import cloud_of
    from components.model import vault_name
    from components.model.sites.places import place_of

    place = place_of(environment, environment.control_plane.site)
    control = cloud_of(place.site).control
    if control is None:
        return
    try:
        control.free_vault(place, vault_name(environment))
    except CloudError as error:
        say(str(error))


def _refuse_unknown(engine: Engine, pending: tuple[Pending, ...]) -> None:
    """Refuse when a killed run was making resources that the state does not contain, since they would be left in the
    cloud. Resources that are deleted with their resource group do not count."""
    lost = [creation for creation in pending if creation.kind == GROUP or not creation.kind.startswith(CONTAINED)]
    if lost:
        raise CommandError(
            f"a killed run was making {', '.join(str(creation) for creation in lost)}; it may exist without being in "
            f"the state. Run `longhaul up --env {engine.stack}` first, which adopts it; or, having seen to it "
            f"yourself, `pulumi refresh --clear-pending-creates --stack {engine.stack}`."
        )


def _confirm(env: str) -> None:
    typed = ask(
        f"This destroys everything of {env}, its etcd clusters and their data too. Type the environment's name: "
    )
    if typed != env:
        raise CommandError(f"that is not {env!r}; nothing was done")
