"""What is wrong with an environment's file, all of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from longhaul.project import Project


def problems(project: Project, env: str) -> tuple[str, ...]:
    """One text for each problem, with paths that begin at the project; none when the file is good."""
    from components.model import ConfigurationError

    try:
        project.load(env)
    except ConfigurationError as error:
        relative = [replace(one, file=_below(project.root, one.file)) for one in error.problems]
        return tuple(str(one).replace(f"{project.root}/", "") for one in relative)
    return ()


def _below(root: Path, file: str) -> str:
    path = Path(file)
    return str(path.relative_to(root)) if path.is_relative_to(root) else file
