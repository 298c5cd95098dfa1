"""Example environments, to look at before the user has a file: real stack files, checked like any other."""

from __future__ import annotations

from pathlib import Path

from components.model import Environment
from components.model.load import environment_files, load, stack_name
from longhaul.exits import CommandError, Exit

FOLDER = Path(__file__).parent
"""Folder of their files."""


def names() -> list[str]:
    """Return the names of the examples, sorted."""
    return [stack_name(path) for path in environment_files(FOLDER)]


def example(name: str) -> Environment:
    """Return the example called ``name``. Raises ``CommandError`` with the existing names when there is no such
    example."""
    if name not in names():
        raise CommandError(f"--example {name}: no such example; there are: {', '.join(names())}", code=Exit.USAGE)
    return load(FOLDER / f"Pulumi.{name}.yaml")
