"""Whether ``longhaul up`` would read what it read when it last ended well, in the same lab and with the same state.

As with any file that ``make`` makes: one who changed a resource by hand, and not these files, runs ``longhaul up``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from lab.project import PROJECT, LabProject
from lab.state import write_atomically
from longhaul.toolchain.trees import describe, files_of

READ = ("clouds", "components", "images", "lab", "longhaul", "playbooks")
"""Folders of this checkout that it runs or reads; what is installed beside them is in the lock."""
PINS = ("Pulumi.yaml", "pyproject.toml", "requirements.lock", "tools.toml")


def what_it_reads(project: LabProject) -> str:
    """SHA-256 of it, in hexadecimal; taken before it begins, since files may change meanwhile."""
    files = [path for _, path in files_of([*(PROJECT / name for name in READ), project.path / "stacks"])]
    return _digest([*files, *(PROJECT / name for name in PINS)])


def is_done(project: LabProject) -> bool:
    """Whether there is nothing for it to do, if all is well."""
    try:
        return _file(project).read_text() == _words(project, what_it_reads(project))
    except FileNotFoundError:
        return False


def note_done(project: LabProject, read: str) -> None:
    """It has just ended well; ``read`` is what it read."""
    write_atomically(_file(project), _words(project, read))


def _file(project: LabProject) -> Path:
    return project.state.directory / "last-up"


def _words(project: LabProject, read: str) -> str:
    """What was read, and what it left: any run of the engine writes the stacks' states, and the lab's process has a
    record of its own."""
    states = [path for _, path in files_of([project.state.directory / "pulumi/.pulumi/stacks"])]
    return f"{read} {_digest([*states, project.state.init_file])}\n"


def _digest(files: Iterable[Path]) -> str:
    return hashlib.sha256("".join(f"{path} {describe(path)}\n" for path in files).encode()).hexdigest()
