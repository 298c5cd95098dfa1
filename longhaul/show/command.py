"""``longhaul show``: show an environment at a glance, as text or as a picture, from its file alone."""

from __future__ import annotations

import argparse
import codecs
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from contract.project import PRICE_FILE
from longhaul.project.checkout import find_project
from longhaul.project.invocation import Invocation
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.costs.cost import EnvironmentCost

HELP = "show an environment from its file alone, as text or as a picture; --example needs no file"
REST = ""

FORMATS = ("text", "json", "svg", "html")
TEXT = FORMATS[0]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument("--all", action="store_true", help="show every pool, zone and control-plane machine")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="output format; svg and html are a map (default: by the name of --output, else text)",
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="--format json, for programs")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write into FILE, and print its path")


def run(invocation: Invocation) -> int:
    """Read, check and show the file. Raise ``ConfigurationError`` with every problem in the file, as ``validate``
    does."""
    environment = _environment(invocation)
    content, output = _content(environment, invocation), invocation.options.output
    if output is None:
        sys.stdout.write(content)
    else:
        output.write_text(content, encoding="utf-8")
        print(output)
    return Exit.OK


def _content(environment: Environment, invocation: Invocation) -> str:
    """Return the environment in the requested format."""
    options = invocation.options
    form = options.format or _format_of(options.output)
    if form in ("svg", "html"):
        from longhaul.show.map import drawing

        return drawing.svg(environment) if form == "svg" else drawing.html(environment)

    from longhaul.costs.text import cost_text
    from longhaul.show.gather import gather_overview
    from longhaul.show.text import to_json, to_text

    overview, cost = gather_overview(environment), _cost(environment, invocation)
    if form == "json":
        return f"{to_json(overview, cost=cost)}\n"
    env = "E" if options.example else environment.name
    unpriced = f"no prices are known; `longhaul prices --env {env}` reads those of your machine types"
    cost_line = cost_text(cost) if cost else unpriced
    unicode = options.output is not None or _has_utf8()
    return f"{to_text(overview, cost=cost_line, everything=options.all, unicode=unicode)}\n"


def _format_of(output: Path | None) -> str:
    """Return the format for the file name's suffix. Raise ``CommandError`` when it is not supported."""
    suffix = output.suffix[1:].lower() if output else ""
    if suffix in ("", "txt"):
        return TEXT
    if suffix not in FORMATS:
        raise CommandError(f"--output {output}: give the --format, one of {', '.join(FORMATS)}", code=Exit.USAGE)
    return suffix


def _cost(environment: Environment, invocation: Invocation) -> EnvironmentCost | None:
    """Return the cost at the project's own prices; None without prices, as for an example."""
    from longhaul.costs.known import KnownPrices

    prices = KnownPrices.of_file(find_project(invocation.options.project).stacks / PRICE_FILE)
    return prices.cost(environment) if prices else None


def _environment(invocation: Invocation) -> Environment:
    """Return the environment of the file. A lab is not entered, since its folder may be readable only by root."""
    options = invocation.options
    project = find_project(options.project)
    project.definition()  # like ``validate``
    if not options.env:
        known = ", ".join(project.environments()) or "none has a file yet"
        message = f"which environment? --env E, or set LONGHAUL_ENV (here: {known}); --example hybrid needs no file"
        raise CommandError(message, code=Exit.USAGE)
    return project.load(options.env)


def _has_utf8() -> bool:
    """Return whether stdout accepts UTF-8, according to the locale."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
