"""``longhaul validate``: check environment files, or print the schema that an editor checks them with."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from longhaul.exits import Exit
from longhaul.invocation import Invocation
from longhaul.project import find_project
from longhaul.report.programs import document
from longhaul.report.text import counted

if TYPE_CHECKING:
    from components.model import Problem

HELP = "check one environment file, or all of them with each other"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``validate``."""
    parser.add_argument("--schema", action="store_true", help="check nothing: print the JSON Schema, for editors")


def run(invocation: Invocation) -> int:
    """Raise ``ConfigurationError`` with everything that is wrong, or print that the files are valid, with what is
    in doubt about them."""
    if invocation.options.schema:
        from components.model.schema import stack_schema

        print(document(stack_schema()))
        return Exit.OK

    from components.model.load import examine_directory

    project = find_project(invocation.options.project)
    env = invocation.options.env
    found = {env: project.examine(env)} if env else examine_directory(project.stacks)
    for name, examined in found.items():
        print(_told(name, examined.warnings))
    return Exit.OK


def _told(name: str, warnings: Sequence[Problem]) -> str:
    """Return the line of a valid file, and below it what is in doubt."""
    if not warnings:
        return f"{name}: valid"
    lines = (f"  warning: {warning}" for warning in warnings)
    return "\n".join([f"{name}: valid, with {counted(len(warnings), 'warning')}", *lines])
