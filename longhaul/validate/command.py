"""``longhaul validate``: check environment files, or print the schema with which an editor checks them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from clouds.base.phrases import counted
from longhaul.project.checkout import Project, examples_folder, find_project
from longhaul.project.context import Context
from longhaul.project.invocation import Invocation
from longhaul.project.lab_seam import find_lab
from longhaul.report.json_output import document
from longhaul.terminal.exits import Exit

if TYPE_CHECKING:
    from components.model import Problem
    from components.model.loading.load import Examined

HELP = "check one environment file, or all of them together"
REST = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``validate``."""
    parser.add_argument("--schema", action="store_true", help="check nothing: print the JSON Schema, for editors")
    parser.add_argument("--json", action="store_true", help="the faults, with file and line, for programs")


def run(invocation: Invocation) -> int:
    """Check the files, or print their schema."""
    if invocation.options.json and not invocation.options.schema:
        return _for_programs(invocation)
    return _for_people(invocation)


def _examined(invocation: Invocation) -> Mapping[str, Examined]:
    """Return the chosen environments with their cautions. Raise ``ConfigurationError`` with every problem."""
    from components.model import ConfigurationError
    from components.model.loading.load import examine_directory

    project, env = find_project(invocation.options.project), invocation.options.env
    project.definition()  # a file that the engine refuses makes no environment
    by_name = {env: project.examine(env)} if env else examine_directory(project.stacks)
    problems = [problem for name, examined in by_name.items() for problem in _rendered(project, name, examined)]
    if problems:
        raise ConfigurationError(
            problems, warnings=[warning for examined in by_name.values() for warning in examined.warnings]
        )
    return by_name


def _rendered(project: Project, env: str, examined: Examined) -> Iterator[Problem]:
    """Yield the problems of what is made of a valid file: user data that is too large, and images that were baked here,
    whose manifests list the kubelet's version."""
    from components.model.versions.steps import image_faults
    from components.render.user_data_faults import user_data_faults
    from longhaul.project.baked_images import image_versions

    where = Context(project=project, env=env, lab=find_lab(project.root, env))
    yield from map(examined.problem, user_data_faults(examined.environment))
    for fault in image_faults(examined.environment, image_versions(where, examined.environment, os.environ)):
        yield examined.problem(fault)


def _for_programs(invocation: Invocation) -> Exit:
    """Print one document with every problem and caution. Return the same exit code as for people."""
    from components.model import ConfigurationError

    names: list[str] = []
    problems: Sequence[Problem] = ()
    try:
        by_name = _examined(invocation)
        names, warnings = list(by_name), [warning for examined in by_name.values() for warning in examined.warnings]
    except ConfigurationError as error:
        problems, warnings = error.problems, list(error.warnings)
    remarks = {
        "problems": [asdict(problem) for problem in problems],
        "warnings": [asdict(warning) for warning in warnings],
    }
    print(document({"valid": not problems, "environments": names, **remarks}))
    return Exit.USAGE if problems else Exit.OK


def _for_people(invocation: Invocation) -> Exit:
    """Raise ``ConfigurationError`` with every problem, or print that the files are valid, with their cautions."""
    if invocation.options.schema:
        from components.model.loading.schema import stack_schema

        print(document(stack_schema()))
        return Exit.OK

    for name, examined in _examined(invocation).items():
        text = _valid_text(name, examined.warnings)
        # An example is examined in a temporary folder, which is gone when somebody wants to look.
        copied = f"{find_project(invocation.options.project).stacks}/" if invocation.options.example else ""
        print(text.replace(copied, f"{examples_folder().name}/") if copied else text)
    return Exit.OK


def _valid_text(name: str, warnings: Sequence[Problem]) -> str:
    """Return the line for a valid file, with its cautions below."""
    from components.model.loading.errors import folded

    if not warnings:
        return f"{name}: valid"
    lines = (f"  warning: {text}" for text in folded(warnings))
    return "\n".join([f"{name}: valid, with {counted(len(warnings), 'warning')}", *lines])
