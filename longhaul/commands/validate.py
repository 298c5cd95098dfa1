"""``longhaul validate``: check environment files, or print the schema that an editor checks them with."""

from __future__ import annotations

import argparse

from longhaul.exits import Exit
from longhaul.invocation import Invocation
from longhaul.project import find_project
from longhaul.report.programs import document

HELP = "check one environment file, or all of them with each other"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``validate``."""
    parser.add_argument("--schema", action="store_true", help="check nothing: print the JSON Schema, for editors")


def run(invocation: Invocation) -> int:
    """Raise ``ConfigurationError`` with everything that is wrong, or print that the files are valid."""
    if invocation.options.schema:
        from components.model.schema import stack_schema

        print(document(stack_schema()))
        return Exit.OK

    from components.model import load_directory

    project = find_project(invocation.options.project)
    if invocation.options.env:
        environment = project.load(invocation.options.env)
        print(f"{environment.name}: valid")
        return Exit.OK
    for name in load_directory(project.stacks):
        print(f"{name}: valid")
    return Exit.OK
