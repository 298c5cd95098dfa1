"""``longhaul up``: make the environment as its file declares it."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from longhaul.engine import plugins
from longhaul.engine.engine import engine_for
from longhaul.engine.execution import interruptible
from longhaul.engine.options import create_log, names_of_one_stack, refuse_event_log, typed_command
from longhaul.engine.phase_outcome import PhaseOutcome, combined_exit_code, summary
from longhaul.engine.plugin_states import Plugin
from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.confirm import require_consent
from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.option_types import add_max_removed, add_offline, add_verbose
from longhaul.terminal.output import Output
from longhaul.terminal.say import ask, say
from longhaul.up.phases import Phase, Preparation, UpJob, not_begun, phases, preparing, run_phase, run_side_by_side

if TYPE_CHECKING:
    from components.model import Environment

HELP = "make the environment as its file says; the next run finishes a killed one"
REST = "ENGINE_OPTION"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``up``."""
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask before changing anything")
    parser.add_argument("--json", action="store_true", help="the engine's events and result as JSON")
    parser.add_argument(
        "--no-refresh", action="store_true", help="do not read the existing resources from the clouds first"
    )
    parser.add_argument("--only", type=Phase, choices=list(Phase), metavar="PHASE", help=f"one of {', '.join(Phase)}")
    parser.add_argument(
        "--replace",
        metavar="MACHINE",
        action="append",
        default=[],
        help="replace a machine of the control plane, behind its guards; may be repeated; only with the infrastructure",
    )
    parser.add_argument(
        "--reclaim",
        choices=("etcd", "events"),
        help="first free space in an etcd cluster that has reached its quota: compact it, defragment its members one "
        "at a time, the leader last, and lift its alarm",
    )
    add_offline(parser)
    add_verbose(parser)
    add_max_removed(parser)


def run(invocation: Invocation) -> int:
    """Check the file, then run every phase, or only the requested one."""
    began = time.monotonic()
    where = context(invocation)
    environment = where.project.load(where.env)
    options = invocation.options
    require_consent(yes=options.yes)
    refuse_event_log(invocation.rest)
    rest = invocation.rest
    if options.replace:
        rest += _replacing(environment, options)
    _require_one_stack(options.only, rest)
    if options.only in (None, Phase.INFRASTRUCTURE):
        _require_images(where, environment)
    enter_lab(where, environment, invocation)
    _require_plugins(where, environment, options)
    if options.reclaim:
        _reclaim(environment, options.reclaim)
    with interruptible():
        job = UpJob(
            where=where,
            environment=environment,
            environ=os.environ,
            options=options,
            rest=rest,
            log=create_log(where, invocation),
            began=began,
        )
        outcomes = _run(job)
    wanted = f"{where.env} is as its file says"
    Output(log=job.log).tell(summary(outcomes, wanted=wanted, again=typed_command(invocation), log=job.log))
    return combined_exit_code(outcomes)


def _replacing(environment: Environment, options: argparse.Namespace) -> tuple[str, ...]:
    """Return the engine's options for ``--replace``, and make the infrastructure the only phase."""
    from longhaul.up.replaced_machines import replacing

    if options.only not in (None, Phase.INFRASTRUCTURE):
        raise CommandError(f"--replace is about the infrastructure, not about --only {options.only}", code=Exit.USAGE)
    options.only = Phase.INFRASTRUCTURE
    return replacing(environment, options.replace)


def _reclaim(environment: Environment, name: str) -> None:
    from components.model import Role
    from longhaul.up.etcd_defragmentation import reclaim

    say(f"{name}: {reclaim(environment, Role(name), tell=say)}")


def _run(job: UpJob) -> list[PhaseOutcome]:
    """Run every phase, or only the requested one. A signal between two phases ends the run like one during a phase."""
    if job.options.only:
        return [run_phase(job, job.options.only)]
    side = [phase for phase in phases(job.environment) if phase in (Phase.HOSTS, Phase.OBJECTS)]
    outcomes: list[PhaseOutcome] = []
    try:
        code = _first(job, outcomes)
        if code is Exit.OK and not job.options.yes:
            code = _consent(side)
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    outcomes += run_side_by_side(job, side) if code is Exit.OK else not_begun(side, code)
    return outcomes


def _first(job: UpJob, outcomes: list[PhaseOutcome]) -> Exit:
    """Run the infrastructure and, for a new environment, the preparation of the hosts. Add their outcomes; return the
    exit code if the run ends here, else 0."""
    with _beside(job) as preparation:
        outcomes.append(run_phase(job, Phase.INFRASTRUCTURE, beside=preparation is not None))
        code = Exit.INTERRUPTED if outcomes[0].interrupted else outcomes[0].code
        if preparation and code is not Exit.OK:
            preparation.end()
        if preparation:
            outcomes.append(preparation.outcome())
    return Exit.INTERRUPTED if code is Exit.OK and outcomes[-1].interrupted else code


def _beside(job: UpJob) -> AbstractContextManager[Preparation | None]:
    """Return a context that prepares the hosts beside the infrastructure, if the environment is new and no question is
    needed."""
    if job.options.yes and Phase.PREPARATION in phases(job.environment) and engine_for(job.where).is_new():
        return preparing(job)
    return nullcontext()


def _consent(side: Sequence[Phase]) -> Exit:
    """Ask whether to go on. The engine asked about the infrastructure; two phases side by side cannot ask."""
    if ask(f"Now {' and '.join(side)}, without further questions. Go on? (yes/no) ") == "yes":
        return Exit.OK
    say(f"{' and '.join(side)}: left as they are")
    return Exit.FAILED


def _require_one_stack(only: Phase | None, rest: tuple[str, ...]) -> None:
    named = names_of_one_stack(rest)
    if named and only in (None, Phase.HOSTS):
        raise CommandError(
            f"{named[0]} names resources of one stack: choose it with --only infrastructure or --only objects",
            code=Exit.USAGE,
        )


def _require_plugins(where: Context, environment: Environment, options: argparse.Namespace) -> None:
    """Have the plugins of all phases before the first: none may stop for want of one when another has made machines."""
    wanted: list[Plugin] = []
    if options.only in (None, Phase.INFRASTRUCTURE):
        wanted += plugins.site_plugins(environment)
    if options.only in (None, Phase.OBJECTS):
        wanted.append(plugins.cluster_plugin())
    if wanted:
        environ = engine_for(where).environ
        plugins.require(wanted, environ, project=where.project, offline=options.offline)


def _require_images(where: Context, environment: Environment) -> None:
    """Refuse placeholder images before anything is made: no machine boots from them."""
    from longhaul.project.image_placeholders import sites_to_bake

    missing = sites_to_bake(environment)
    if missing:
        sites = "\n".join(
            f"  sites.{name}.image: `longhaul image build --env {where.env} --site {name}` ends with the id to write"
            for name in missing
        )
        raise CommandError(
            f"{where.project.stack_file(where.env)} names images that are not baked yet, so nothing was made:\n{sites}",
            code=Exit.USAGE,
        )
