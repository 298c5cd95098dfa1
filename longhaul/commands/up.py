"""``longhaul up``: make the environment what its file says."""

from __future__ import annotations

import argparse
import sys

from longhaul.cli import Invocation
from longhaul.context import context, enter_lab
from longhaul.engine.change import change_with_pending, exit_code
from longhaul.engine.engine import engine_for, ensure_stack
from longhaul.engine.recovery import recover
from longhaul.exits import CommandError, Exit

HELP = "make the environment what its file says; a run that was killed is finished by the next"
TAKES_REST = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of ``up``."""
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask before changing anything")
    parser.add_argument("--json", action="store_true", help="the engine's events and result as JSON")


def run(invocation: Invocation) -> int:
    """Check the file, put right what a killed run left, and run the engine."""
    where = context(invocation)
    environment = where.project.load(where.env)
    options = invocation.options
    require_consent(yes=options.yes)
    enter_lab(where, environment, invocation)
    engine = engine_for(where)
    recover(engine)
    ensure_stack(engine)
    return exit_code(change_with_pending(engine, "up", engine_arguments(options, invocation.rest)))


def engine_arguments(options: argparse.Namespace, rest: tuple[str, ...]) -> list[str]:
    """What is passed on to the engine."""
    return ["--suppress-outputs", *(["--yes"] if options.yes else []), *(["--json"] if options.json else []), *rest]


def require_consent(*, yes: bool) -> None:
    """Without a terminal nobody can be asked."""
    if not yes and not sys.stdin.isatty():
        raise CommandError("there is no terminal to ask on: pass --yes", code=Exit.USAGE)
