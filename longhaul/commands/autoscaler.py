"""``longhaul autoscaler``: say which machines the cluster needs and which it can let go, and why."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from longhaul.context import context, enter_lab
from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation

if TYPE_CHECKING:
    from longhaul.prices.book import PriceBook
    from longhaul.project import Project

HELP = "say which machines waiting pods need, and which nodes may go; changes nothing yet"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``autoscaler``."""
    parser.add_argument("--once", action="store_true", help="look once, and end; the only way there is yet")
    parser.add_argument("--dry-run", action="store_true", help="change nothing; the only way there is yet")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(invocation: Invocation) -> int:
    """Look once, and show what would be done. Exit code 0 when everything could be read."""
    options = invocation.options
    given = {"--once": options.once, "--dry-run": options.dry_run}
    if not all(given.values()):
        missing = " ".join(name for name, is_given in given.items() if not is_given)
        said = "the autoscaler does not act yet: it looks once and says what it would do"
        raise CommandError(f"{said}; add {missing}", code=Exit.USAGE)
    where = context(invocation)
    environment = where.project.load(where.env)
    enter_lab(where, environment, invocation)

    from longhaul.autoscaler.look import look
    from longhaul.autoscaler.text import to_plain, to_text
    from longhaul.cluster import api_of
    from longhaul.kubernetes.connection import ApiError
    from longhaul.report.programs import document

    prices = _prices(where.project)
    try:
        with api_of(where, environment, os.environ) as api:
            looked = look(environment, api, prices)
    except ApiError as error:
        raise CommandError(str(error), code=Exit.UNREACHABLE if error.passing else Exit.FAILED) from None
    if options.json:
        print(document({"environment": where.env, **to_plain(looked.decision, looked.blind)}))
    else:
        print(to_text(looked.decision, looked.blind))
    return Exit.FAILED if looked.blind else Exit.OK


def _prices(project: Project) -> PriceBook:
    """Return the prices of the project's own file; none when it has no such file."""
    from longhaul.commands.prices import FILE
    from longhaul.prices.book import PriceBook

    path = project.stacks / FILE
    return PriceBook.load(path) if path.exists() else PriceBook()
