"""Environments to look at before there is a file of one's own: real stack files, checked as any other."""

from __future__ import annotations

from pathlib import Path

from components.model import Environment
from components.model.load import environment_files, load, stack_name
from longhaul.exits import CommandError, Exit

FOLDER = Path(__file__).parent
"""Where their files are."""


def names() -> list[str]:
    """Names of the examples, sorted."""
    return [stack_name(path) for path in environment_files(FOLDER)]


def example(name: str) -> Environment:
    """The example called ``name``; ``CommandError`` with the names that there are when there is none of it."""
    if name not in names():
        raise CommandError(f"--example {name}: no such example; there are: {', '.join(names())}", code=Exit.USAGE)
    return load(FOLDER / f"Pulumi.{name}.yaml")
