"""Commands that are killed on their way, and what they leave behind."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.project import REPOSITORY, Project, run

LISTED = """
import json, sys
from clouds.azure.resource_manager import ResourceManager
subscription = sys.argv[1]
pages = ResourceManager().pages(f"/subscriptions/{subscription}/resources", version="2021-04-01")
print(json.dumps([[one["id"], (one.get("tags") or {})] for one in pages]))
"""


def killed_when(words: Sequence[str], reached: Callable[[str], bool]) -> bool:
    """Start a command in a process group of its own, and kill all of that as soon as ``reached`` says so of its output
    so far; return False when the command ended before."""
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(
            words, cwd=REPOSITORY, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        ) as process:
            ended = os.pidfd_open(process.pid)
            try:
                while not reached(read := _text(output.fileno())):
                    if select.select([ended], [], [], 0.05)[0]:
                        sys.stdout.write(read[-4000:])
                        return False
            finally:
                os.close(ended)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return True


def command(project: Project, *words: str) -> list[str]:
    """Return the words of ``longhaul WORDS`` for a project, as a program of its own."""
    verb, *rest = words
    executable = str(Path(sys.executable).with_name("longhaul"))
    return [executable, verb, "--project", str(project.path), "--env", project.env, *rest]


def processes_of(project: Project) -> list[Path]:
    """Return the engines, plugins and Ansible's processes of a project's runs on this host."""
    return [path for path in Path("/proc").iterdir() if path.name.isdigit() and _is_of(path, project)]


def locks_of(project: Project) -> list[Path]:
    """Return the engine's locks on the project's stacks."""
    return [path for path in (project.state / "pulumi").glob(".pulumi/locks/**/*") if path.is_file()]


def unknown_to_the_state(project: Project, subscription: str) -> set[str]:
    """Return the ids of the resources in the lab's Azure that no stack of the project has."""
    words = [str(project.state / "enter"), sys.executable, "-c", LISTED, subscription]
    listed = {str(identity).lower() for identity, _ in json.loads(run(words).stdout)}
    exported = json.loads(project.engine("stack", "export").stdout)["deployment"]["resources"]
    return listed - {str(one.get("id", "")).lower() for one in exported}


def _text(descriptor: int) -> str:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")


def _is_of(process: Path, project: Project) -> bool:
    try:
        words = (process / "cmdline").read_bytes().decode(errors="replace")
        variables = (process / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return f"file://{project.state}" in variables and any(
        sign in words for sign in ("pulumi", "lab.providers", "ansible")
    )
