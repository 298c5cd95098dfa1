"""The common start of most commands: the project, the environment's name, and the lab that stands for it, if any."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.project.checkout import Project, find_project
from longhaul.project.invocation import Invocation
from longhaul.project.lab_seam import Lab, find_lab, lab_down, require_cloud
from longhaul.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from components.model import Environment


@dataclass(frozen=True, kw_only=True)
class Context:
    """The project, environment and lab that a command works on."""

    project: Project
    env: str
    lab: Lab | None
    """The lab that simulates the environment's clouds, up or down; None without a lab."""

    @property
    def lab_with_port(self) -> Lab | None:
        """Return the lab when its API is at a port of this machine; None on a laptop, which reaches the API as it would
        without a lab."""
        return None if self.lab is None or self.lab.on_laptop() else self.lab


def context(invocation: Invocation) -> Context:
    """Return project, environment and lab of an invocation. Raise ``CommandError`` when it names no environment."""
    project = find_project(invocation.options.project)
    env = invocation.options.env
    if not env:
        known = ", ".join(project.environments()) or "none has a file yet"
        raise CommandError(f"which environment? --env E, or set LONGHAUL_ENV (here: {known})", code=Exit.USAGE)
    return Context(project=project, env=env, lab=find_lab(project.root, env))


def state_folder(where: Context, environ: Mapping[str, str]) -> Path:
    """Return the private folder for an environment's files between runs: the lab's folder, or one in the user's state
    directory, named after the checkout's path."""
    if where.lab is not None:
        return where.lab.folder
    base = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", str(Path.home()))) / ".local" / "state")
    digest = hashlib.sha256(str(where.project.root).encode()).hexdigest()[:12]
    return Path(base) / "longhaul" / digest


def enter_lab(where: Context, environment: Environment, invocation: Invocation) -> None:
    """Re-run the command as the lab's operator when the environment is a lab: this process is replaced by the same
    command inside the lab.

    Return when the environment is no lab, or the process already runs inside.
    """
    if where.lab is None:
        require_cloud(environment)
        return
    if where.lab.inside():
        return
    if not where.lab.is_up():
        raise lab_down(where.env)
    where.lab.enter(_located(where, invocation), environ=os.environ)


def _located(where: Context, invocation: Invocation) -> list[str]:
    """Return the command line with explicit environment and project: working directory and variables may differ
    inside."""
    name, *others = _without_location(invocation)
    tail = ["--", *invocation.rest] if invocation.rest else []
    return [name, "--env", where.env, "--project", str(where.project.root), *others, *tail]


def _without_location(invocation: Invocation) -> list[str]:
    split = invocation.argv.index("--") if "--" in invocation.argv else len(invocation.argv)
    kept: list[str] = []
    words = iter(invocation.argv[:split])
    for word in words:
        if word in ("--env", "--project"):
            next(words, None)
        elif not word.startswith(("--env=", "--project=")):
            kept.append(word)
    return kept
