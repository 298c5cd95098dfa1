"""``longhaul doctor``: check that everything can be made, before anything is made."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from longhaul.doctor.check_names import NAMES
from longhaul.project.context import Context, context, enter_lab
from longhaul.project.invocation import Invocation
from longhaul.terminal.option_types import add_offline

if TYPE_CHECKING:
    from components.model import Environment
    from longhaul.doctor.target import DoctorTarget

HELP = "check whether everything that an environment needs exists and is allowed; changes nothing in a cloud"
REST = ""

LIMIT_S = 60.0
"""Default time limit of one check, seconds."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``doctor``."""
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=NAMES,
        help=f"only this check; may be repeated: {', '.join(NAMES)}",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=LIMIT_S,
        help=f"time limit of one check, seconds (default: {LIMIT_S:g})",
    )
    add_offline(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(invocation: Invocation) -> int:
    """Run all checks side by side and report. Return exit code 1 with problems, 3 when no question got an answer."""
    where = context(invocation)
    environment = where.project.load(where.env)
    if where.lab is not None:
        enter_lab(where, environment, invocation)

    from longhaul.doctor.checks import checks
    from longhaul.doctor.plugins import fetch
    from longhaul.doctor.run import run_checks
    from longhaul.doctor.text import exit_code, to_json, to_text
    from longhaul.doctor.this_machine import local_machine
    from longhaul.report.json_output import document

    options = invocation.options
    only = tuple(options.only or ())
    subject = _subject(where, environment)
    if not only or "plugins" in only:
        plugins = fetch(environment, os.environ, project=where.project, offline=options.offline)
        subject = replace(subject, plugins=plugins)
    chosen = checks(subject, local_machine(), only=only)
    findings = run_checks(chosen, limit_s=options.timeout)
    if options.json:
        print(document(to_json(environment.name, findings)))
    else:
        print(to_text(environment.name, findings))
    return exit_code(findings)


def _subject(where: Context, environment: Environment) -> DoctorTarget:
    from components.model.loading.document import read_document
    from longhaul.doctor.target import DoctorTarget
    from longhaul.engine.backend import current_backend
    from longhaul.report.text import seen_from

    path = where.project.stack_file(where.env)
    hosts = path.with_name(environment.bare_metal) if environment.bare_metal else None
    return DoctorTarget(
        environment=environment,
        file=str(seen_from(where.project.root, path)),
        hosts_file=str(seen_from(where.project.root, hosts)) if hosts else "",
        stack=read_document(path).data,
        backend=current_backend(where.project.definition(), os.environ),
        environ=os.environ,
        lab=where.lab is not None,
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, above 0 and at most 3600")
    return seconds
