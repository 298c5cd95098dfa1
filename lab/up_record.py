"""Tells whether ``longhaul up`` would read the same inputs as at its last success, in the same lab and with the same
state.

The record does not notice a manual change of a resource; run ``longhaul up`` after such a change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from lab.project import PROJECT, LabProject
from lab.state import write_atomically
from longhaul.toolchain.trees import describe, files_of

READ = ("clouds", "components", "contract", "images", "lab", "longhaul", "playbooks", "services")
"""Folders of this checkout that ``longhaul up`` runs or reads; the lock file lists the installed packages."""
PINS = ("Pulumi.yaml", "pyproject.toml", "requirements.lock", "tools.toml")


def what_it_reads(project: LabProject) -> str:
    """Return the SHA-256, in hexadecimal, of all that ``longhaul up`` reads. Take it before ``up`` begins, because
    files may change meanwhile."""
    files = [path for _, path in files_of([*(PROJECT / name for name in READ), project.path / "stacks"])]
    return _digest([*files, *(PROJECT / name for name in PINS)])


def is_done(project: LabProject, read: str) -> bool:
    """Return whether ``longhaul up`` has nothing to do, provided that the lab is healthy; ``read`` is the digest of its
    inputs."""
    try:
        return _file(project).read_text() == _words(project, read)
    except FileNotFoundError:
        return False


def note_done(project: LabProject, read: str) -> None:
    """Record that ``longhaul up`` has just succeeded; ``read`` is the digest of its inputs."""
    write_atomically(_file(project), _words(project, read))


def _file(project: LabProject) -> Path:
    return project.state.directory / "last-up"


def _words(project: LabProject, read: str) -> str:
    """Return the digests of the inputs and of the results. Any run of the engine writes the stacks' states, and each
    process 1 of the lab has its own record."""
    states = [path for _, path in files_of([project.state.directory / "pulumi/.pulumi/stacks"])]
    return f"{read} {_digest([*states, project.state.init_file])}\n"


def _digest(files: Iterable[Path]) -> str:
    return hashlib.sha256("".join(f"{path} {describe(path)}\n" for path in files).encode()).hexdigest()
