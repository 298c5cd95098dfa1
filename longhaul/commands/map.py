"""``longhaul map``: draw an environment as a picture, from its file alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from longhaul.exits import CommandError, Exit
from longhaul.invocation import Invocation
from longhaul.project import find_project

HELP = "draw an environment as one SVG or HTML page; needs no account, engine or network"
TAKES_REST = False

STDOUT = "-"
FORMATS = (".html", ".svg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``map``."""
    parser.add_argument(
        "--to",
        metavar="FILE",
        help="a .html or .svg file, or - for the page on stdout (default: <env>.html in the current folder)",
    )


def run(invocation: Invocation) -> int:
    """Draw, write, and print the file's path. As in ``show``, it does not matter whether the environment is a lab's."""
    options = invocation.options
    project = find_project(options.project)
    if not options.env:
        known = ", ".join(project.environments()) or "none has a file yet"
        raise CommandError(f"which environment? --env E, or set LONGHAUL_ENV (here: {known})", code=Exit.USAGE)
    to: str = options.to or f"{options.env}.html"
    suffix = FORMATS[0] if to == STDOUT else Path(to).suffix.lower()
    if suffix not in FORMATS:
        message = f"--to {to}: a map is a file that ends in {' or '.join(FORMATS)}, or - for stdout"
        raise CommandError(message, code=Exit.USAGE)
    environment = project.load(options.env)

    from longhaul.map.drawing import html, svg

    content = svg(environment) if suffix == ".svg" else html(environment)
    if to == STDOUT:
        sys.stdout.write(content)
        return Exit.OK
    Path(to).write_text(content, encoding="utf-8")
    print(to)
    return Exit.OK
