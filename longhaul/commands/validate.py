"""``longhaul validate``: check environment files, or print the schema that an editor checks them with."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from longhaul.exits import Exit
from longhaul.invocation import Invocation
from longhaul.project import find_project
from longhaul.report.programs import document

HELP = "check one environment file, or all of them with each other"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``validate``."""
    parser.add_argument("--schema", action="store_true", help="check nothing: print the JSON Schema, for editors")
    parser.add_argument("--json", action="store_true", help="what is wrong, with file and line, for programs")


def run(invocation: Invocation) -> int:
    """Check the files, or print their schema."""
    if invocation.options.json and not invocation.options.schema:
        return _for_programs(invocation)
    return _for_people(invocation)


def _for_programs(invocation: Invocation) -> Exit:
    """Print one document with everything that is wrong. The exit code is the one for people."""
    from components.model import ConfigurationError, load_directory

    project, env = find_project(invocation.options.project), invocation.options.env
    names, problems = [], []
    try:
        names = [project.load(env).name] if env else list(load_directory(project.stacks))
    except ConfigurationError as error:
        problems = [asdict(problem) for problem in error.problems]
    print(document({"valid": not problems, "environments": names, "problems": problems}))
    return Exit.USAGE if problems else Exit.OK


def _for_people(invocation: Invocation) -> int:
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
