"""``longhaul up``: make the environment as its file declares it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from longhaul.arguments import add_max_removed
from longhaul.beside import preparing
from longhaul.context import Context, context, enter_lab
from longhaul.engine.engine import engine_for
from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from longhaul.phases import REFRESH, Phase, phases, run_phase, run_side_by_side, summed_up, timed
from longhaul.say import say

if TYPE_CHECKING:
    from components.model import Environment

HELP = "make the environment what its file says; a run that was killed is finished by the next"
TAKES_REST = True

OF_ONE_STACK = ("--target", "--replace", "--target-replace", "--exclude", "--import-file", "--plan")
"""The engine's options that name resources of one stack."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``up``."""
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask before changing anything")
    parser.add_argument("--json", action="store_true", help="the engine's events and result as JSON")
    parser.add_argument("--no-refresh", action="store_true", help="do not read what is there from the clouds first")
    parser.add_argument("--only", type=Phase, choices=list(Phase), metavar="PHASE", help=f"one of {', '.join(Phase)}")
    add_max_removed(parser)


def run(invocation: Invocation) -> int:
    """Check the file, then run every phase, or only the requested one."""
    where = context(invocation)
    environment = where.project.load(where.env)
    options = invocation.options
    require_consent(yes=options.yes)
    _require_one_stack(options.only, invocation.rest)
    if options.only in (None, Phase.INFRASTRUCTURE):
        _require_images(where, environment)
    enter_lab(where, environment, invocation)
    words = engine_arguments(options, invocation.rest)

    def run_one(phase: Phase) -> Exit:
        return run_phase(phase, where, environment, words, max_removed=options.max_removed)

    if options.only is not None:
        return run_one(options.only)
    with _beside(where, environment, yes=options.yes) as end:
        code = timed(Phase.INFRASTRUCTURE, lambda: run_one(Phase.INFRASTRUCTURE))
        if code is not Exit.OK:
            end()
            return code
    return _the_rest(where, environment, invocation)


def _beside(where: Context, environment: Environment, *, yes: bool) -> AbstractContextManager[Callable[[], None]]:
    """Return a context that prepares the racks beside the infrastructure, if the environment is new and nothing has to
    be asked. It gives a function that ends the preparation."""
    if yes and Phase.PREPARATION in phases(environment) and engine_for(where).is_new():
        return preparing(where)
    return nullcontext(lambda: None)


def _the_rest(where: Context, environment: Environment, invocation: Invocation) -> Exit:
    """Run the phases that come after the infrastructure."""
    side = [phase for phase in phases(environment) if phase in (Phase.RACKS, Phase.OBJECTS)]
    if not invocation.options.yes and not _go_on(side):
        return Exit.FAILED
    say(f"{' and '.join(side)}: {'begin' if len(side) > 1 else 'begins'}")
    given = invocation.options
    options = [*(["--json"] if given.json else []), *(["--no-refresh"] if given.no_refresh else [])]
    codes = run_side_by_side(side, where, environment, [*options, "--", *invocation.rest])
    for phase, code in codes.items():
        if code is not Exit.OK:
            say(f"{phase}: not done; `longhaul up --only {phase} --env {where.env}` runs it alone")
    if set(codes.values()) == {Exit.OK}:
        say(f"{' and '.join(side)}: done")
    return summed_up(codes)


def _go_on(side: Sequence[Phase]) -> bool:
    """Ask whether to go on. The engine asked about the infrastructure; two phases side by side cannot ask."""
    typed = input(f"Now {' and '.join(side)}, without further questions. Go on? (yes/no) ")
    if typed.strip() == "yes":
        return True
    say(f"{' and '.join(side)}: left as they are")
    return False


def _require_one_stack(only: Phase | None, rest: tuple[str, ...]) -> None:
    named = names_of_one_stack(rest)
    if named and only in (None, Phase.RACKS):
        raise CommandError(
            f"{named[0]} names resources of one stack: say of which, --only infrastructure or --only objects",
            code=Exit.USAGE,
        )


def _require_images(where: Context, environment: Environment) -> None:
    """Refuse, before anything is made, images that are only placeholders: no machine boots from them."""
    from longhaul.init.images import to_be_baked

    missing = to_be_baked(environment)
    if missing:
        sites = "\n".join(
            f"  sites.{name}.image: `longhaul image build --env {where.env} --site {name}` ends with the id to write"
            for name in missing
        )
        raise CommandError(
            f"{where.project.stack_file(where.env)} names images that are not baked yet, so nothing was made:\n{sites}",
            code=Exit.USAGE,
        )


def names_of_one_stack(rest: Sequence[str]) -> list[str]:
    """Return the words that name resources of one stack, among options for the engine."""
    return [word for word in rest if word.split("=")[0] in OF_ONE_STACK or word.split("=")[0] == "-t"]


def engine_arguments(options: argparse.Namespace, rest: tuple[str, ...]) -> list[str]:
    """Return the engine's options. By default it reads the clouds first: what vanished there is made anew."""
    told = options.no_refresh or any(word.startswith(("--refresh", "-r")) for word in rest)
    return [
        "--suppress-outputs",
        *(["--yes"] if options.yes else []),
        *(["--json"] if options.json else []),
        *([] if told else [REFRESH]),
        *rest,
    ]


def require_consent(*, yes: bool) -> None:
    """Refuse to go on without ``--yes`` when there is no terminal to ask on."""
    if not yes and not sys.stdin.isatty():
        raise CommandError("there is no terminal to ask on: pass --yes", code=Exit.USAGE)
