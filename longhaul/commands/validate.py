"""``longhaul validate``: check environment files, and do nothing else."""

from __future__ import annotations

import argparse

from longhaul.exits import Exit
from longhaul.invocation import Invocation
from longhaul.project import find_project

HELP = "check one environment file, or all of them, and whether they overlap"
TAKES_REST = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: ``validate`` has no options of its own."""


def run(invocation: Invocation) -> int:
    """Raise ``ConfigurationError`` with everything that is wrong, or print that the files are valid."""
    from components.model import load_directory

    project = find_project(invocation.options.project)
    if invocation.options.env:
        environment = project.load(invocation.options.env)
        print(f"{environment.name}: valid")
        return Exit.OK
    for name in load_directory(project.stacks):
        print(f"{name}: valid")
    return Exit.OK
