"""``longhaul show``: show an environment at a glance, from its file alone."""

from __future__ import annotations

import argparse
import codecs
import sys
from typing import TYPE_CHECKING

from longhaul.commands.prices import FILE
from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from longhaul.project import find_project

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.prices.cost import EnvironmentCost

HELP = "show sites, addresses, machines, pools, GPUs, links and cost, from the environment file alone"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument("--example", metavar="NAME", help="a built-in example in place of a file: hybrid")
    parser.add_argument("--all", action="store_true", help="fold nothing: every pool, zone and control-plane machine")
    parser.add_argument("--json", action="store_true", help="all of it for programs")


def run(invocation: Invocation) -> int:
    """Read, check and show; ``ConfigurationError`` with everything that is wrong with the file, as in ``validate``."""
    environment = _environment(invocation)

    from longhaul.prices.text import cost_text
    from longhaul.show.survey import survey
    from longhaul.show.text import to_json, to_text

    options = invocation.options
    overview, cost = survey(environment), _cost(environment, invocation)
    if options.json:
        print(to_json(overview, cost=cost))
        return Exit.OK
    own = "E" if options.example else environment.name
    unpriced = f"no prices are known; `longhaul prices --env {own}` reads those of your machine types"
    told = cost_text(cost) if cost else unpriced
    print(to_text(overview, cost=told, everything=options.all, unicode=_has_utf8()))
    return Exit.OK


def _cost(environment: Environment, invocation: Invocation) -> EnvironmentCost | None:
    """Return the cost by the project's own prices; None when there are none, or for an example."""
    from longhaul.prices.known import KnownPrices

    if invocation.options.example:
        return None
    prices = KnownPrices.of_file(find_project(invocation.options.project).stacks / FILE)
    return prices.cost(environment) if prices else None


def _environment(invocation: Invocation) -> Environment:
    """Return the example, or the environment of the file. It does not matter whether it is a lab's: only the lab's
    folder may be private to root."""
    options = invocation.options
    if options.example:
        from longhaul.show.examples import example

        return example(options.example)
    project = find_project(options.project)
    if not options.env:
        known = ", ".join(project.environments()) or "none has a file yet"
        message = f"which environment? --env E, or set LONGHAUL_ENV (here: {known}); --example hybrid needs no file"
        raise CommandError(message, code=Exit.USAGE)
    return project.load(options.env)


def _has_utf8() -> bool:
    """Return whether stdout takes UTF-8, according to the locale."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
