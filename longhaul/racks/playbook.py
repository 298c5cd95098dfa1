"""Runs Ansible for an environment."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

from longhaul.cluster.api_access import kubeconfig_file
from longhaul.engine import processes
from longhaul.engine.execution import EngineResult, run_engine
from longhaul.engine.location import engine_environment
from longhaul.engine.records import VARIABLE, new_run
from longhaul.project.context import Context
from longhaul.racks.ansible_script import CHECKOUT, PROJECT
from longhaul.terminal.exits import CommandError
from longhaul.terminal.output import Streams
from longhaul.terminal.progress import Followed
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment

OVERRIDE = "LONGHAUL_ANSIBLE"
"""Environment variable with the path of an `ansible-playbook` that replaces this interpreter's."""

SITE = "playbooks/site.yml"
PREPARE = "playbooks/prepare.yml"
LOOK = "playbooks/preflight.yml"
INVENTORY = CHECKOUT / "playbooks" / "inventory.py"
CONFIGURATION = CHECKOUT / "playbooks" / "ansible.cfg"


def run_playbook(
    where: Context,
    environment: Environment,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    *,
    api: bool = True,
    master: bool = False,
    stdout: IO[bytes] | None = None,
    followed: Followed | None = None,
) -> EngineResult:
    """Run ``ansible-playbook ARGUMENTS`` on this terminal, with the environment's inventory and, with ``api``, access
    to its cluster's API. For ``master`` see :func:`longhaul.cluster.identity.fetch_identity`. Without a playbook in the
    arguments, run ``site.yml``. Close the connections that Ansible leaves open. ``stdout`` redirects Ansible's output;
    with ``followed``, the output goes to the streams of ``followed`` instead."""
    run = new_run("ansible")
    argv = [str(_ansible(environ)), "--inventory", str(INVENTORY), *_located(arguments, where.project.root)]
    with ExitStack() as stack:
        variables = {
            **engine_environment(environ),
            "ANSIBLE_CONFIG": environ.get("ANSIBLE_CONFIG") or str(CONFIGURATION),
            "KUBECONFIG": _kubeconfig(stack, where, environment, environ, master=master) if api else "",
            "LONGHAUL_ENV": where.env,
            PROJECT: str(where.project.root),
            VARIABLE: run.id,
        }
        streams = followed.streams if followed else Streams(stdout=stdout, stderr=None)
        result = run_engine(
            argv,
            cwd=where.project.root,
            environ=variables,
            stdout=streams.stdout,
            stderr=streams.stderr,
            look=followed.look if followed else None,
            interrupted=followed.interrupt if followed else None,
        )
    processes.terminate(run.leftovers())
    return result


def _kubeconfig(
    stack: ExitStack, where: Context, environment: Environment, environ: Mapping[str, str], *, master: bool
) -> str:
    """Return the path of a kubeconfig; empty when the vault returns no identity, since some playbooks need no
    kubeconfig."""
    try:
        return str(stack.enter_context(kubeconfig_file(where, environment, environ, master=master)))
    except CommandError as error:
        say(f"continuing without the cluster's API: {error}")
        return ""


def _ansible(environ: Mapping[str, str]) -> Path:
    chosen = environ.get(OVERRIDE)
    program = Path(chosen) if chosen else Path(sys.executable).with_name("ansible-playbook")
    if not program.exists():
        raise CommandError(f"{program} is missing: `uv pip install --editable .` in the checkout installs it")
    return program


def _located(arguments: Sequence[str], root: Path) -> list[str]:
    """Return the arguments with the full paths of their playbooks: in the project, or beside this program."""
    located = [_playbook(word, root) if _is_playbook(word) else word for word in arguments]
    return located if any(map(_is_playbook, arguments)) else [*located, _playbook(SITE, root)]


def _is_playbook(word: str) -> bool:
    return word.endswith((".yml", ".yaml")) and not word.startswith(("-", "@"))


def _playbook(word: str, root: Path) -> str:
    return word if (root / word).exists() else str(CHECKOUT / word) if (CHECKOUT / word).exists() else word
