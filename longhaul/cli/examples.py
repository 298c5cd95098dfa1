"""The examples: real stack files in a separate folder. In `stacks/`, their address ranges would collide with the ranges
of the user's environments.

A command with ``--example`` gets a project with the example as its only environment: the engine requires a stack file
beside its program, and every command then treats the example as any other environment.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from contract.project import PROJECT_FILE, STACKS
from longhaul.project.checkout import Project, example_names, examples_folder
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment

PROJECT = "longhaul-examples"
"""Name of an example's project. No backend has a stack of this project, so an example is never compared with the state
of an environment that happens to have its name."""

_DEFINITION = f"name: {PROJECT}\nruntime: python\nmain: {STACKS}/\nstackConfigDir: {STACKS}/\n"
_PROGRAM = "__main__.py"


def example(name: str) -> Environment:
    """Return the example ``name``. Raise ``CommandError`` with the existing names when there is no such example."""
    from components.model import load

    return load(_file(name))


@contextmanager
def example_project(name: str) -> Iterator[Project]:
    """Give a project with the example ``name`` alone, valid inside the block. Raise ``CommandError`` with the existing
    names when there is no such example."""
    source = _file(name)
    with tempfile.TemporaryDirectory(prefix="longhaul-example-") as temporary:
        project = Project(root=Path(temporary))
        project.stacks.mkdir()
        (project.root / PROJECT_FILE).write_text(_DEFINITION, encoding="utf-8")
        for path in (source, source.with_name(f"hosts.{name}.yaml"), examples_folder().parent / STACKS / _PROGRAM):
            if path.is_file():
                shutil.copy(path, project.stacks)
        yield project


def _file(name: str) -> Path:
    if name not in example_names():
        raise CommandError(
            f"--example {name}: no such example; the examples are: {', '.join(example_names())}", code=Exit.USAGE
        )
    return examples_folder() / f"Pulumi.{name}.yaml"
