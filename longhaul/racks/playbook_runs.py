"""Runs of the racks' playbooks: one for each batch of machines, or one for all, which is the racks' part of ``up``.

Ansible's own ``serial`` can do batches, but not a budget: its strategy ``free``, which the plays need, ignores
``max_fail_percentage`` (ansible-core 2.19, plugins/strategy/free.py), and a play ends early only when a whole batch
failed (executor/playbook_executor.py).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from clouds.base.phrases import counted
from longhaul.engine.execution import EngineResult
from longhaul.project.context import Context
from longhaul.racks.inventory import OnpremMachine, machines
from longhaul.racks.playbook import LOOK, PREPARE, SITE, run_playbook
from longhaul.racks.ssh import IMPATIENT
from longhaul.racks.tasks import Tasks
from longhaul.racks.text import to_text
from longhaul.racks.verdicts import HostResults, VerdictDocument, read
from longhaul.terminal.progress import Progress
from longhaul.terminal.say import say

if TYPE_CHECKING:
    from components.model import Environment

VERDICTS = "LONGHAUL_VERDICTS"
"""Environment variable with the path to which Ansible's callback writes its results."""
EVENTS = "LONGHAUL_TASKS"
"""Environment variable with the path to which the callback writes the beginning and end of tasks."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options for a run of Ansible, independent of its machines."""

    words: Sequence[str]
    """Ansible's own options."""
    look: bool
    """Only check: run the preflight and nothing else."""
    budget: int
    """Maximum number of machines that may fail before the run stops."""
    stdout: IO[bytes] | None
    """Destination of Ansible's output; None for this process's own."""


def play(
    where: Context,
    environment: Environment,
    words: Sequence[str],
    environ: Mapping[str, str],
    *,
    api: bool = True,
    master: bool = False,
    stdout: IO[bytes] | None = None,
    progress: Progress | None = None,
) -> tuple[EngineResult, VerdictDocument | None]:
    """Run a playbook like :func:`run_playbook`, and show its progress if ``progress`` is given. Return its result, and
    the document that Ansible's callback wrote."""
    with tempfile.TemporaryDirectory(prefix="longhaul-rack-") as folder, ExitStack() as stack:
        path, events = Path(folder) / "verdicts.json", Path(folder) / "events.json"
        variables = {**environ, VERDICTS: str(path), **({EVENTS: str(events)} if progress else {})}
        followed = stack.enter_context(progress.following(Tasks(), events)) if progress else None
        result = run_playbook(
            where, environment, words, variables, api=api, master=master, stdout=stdout, followed=followed
        )
        return result, read(path)


def roll(
    where: Context,
    environment: Environment,
    turns: Sequence[Sequence[OnpremMachine]],
    asked: RunOptions,
    environ: Mapping[str, str],
    *,
    limited: bool,
) -> HostResults:
    """Run Ansible on the machines batch by batch, until all are done, the budget is used up, or somebody interrupts.
    ``limited`` means that the environment has further machines."""
    account = HostResults()
    variables = {**environ, IMPATIENT: "yes"}
    for number, turn in enumerate(turns):
        names = ",".join(machine.name for machine in turn)
        if len(turns) > 1:
            say(f"batch {number + 1} of {len(turns)}: {names}")
        words = [*asked.words, *(["--limit", names] if limited or len(turns) > 1 else [])]
        words.append(LOOK if asked.look else SITE)
        # Each batch gets its own certificate: all batches together may exceed a certificate's lifetime.
        result, document = play(where, environment, words, variables, api=not asked.look, stdout=asked.stdout)
        account.add(document, turn, code=result.code)
        if _ends(account, asked, result, after=turns[number + 1 :]):
            break
    return account


def _ends(
    account: HostResults, asked: RunOptions, result: EngineResult, *, after: Sequence[Sequence[OnpremMachine]]
) -> bool:
    """Return whether no further batch may begin. If so, print the reason, and record the remaining machines."""
    left = [machine for turn in after for machine in turn]
    # A run that finished before a signal took effect does not count as interrupted.
    account.interrupted = result.interrupted and (result.code != 0 or bool(left))
    if not account.interrupted and account.failures <= asked.budget:
        return False
    if left and not account.interrupted:
        failed = f"{account.failures} failed, and --budget allows {asked.budget}"
        say(
            f"{failed}: no further batch begins, and {len(left)} hosts are left; repair the failed ones, then run "
            "it again"
        )
    account.add_not_begun(left)
    return True


def run_all(
    where: Context, environment: Environment, environ: Mapping[str, str], progress: Progress, *, early: bool
) -> tuple[EngineResult, HostResults]:
    """Play ``site.yml`` as a phase of ``up``, or with ``early`` the part that does not depend on the infrastructure.
    Show the verdicts of machines that are not as declared; return Ansible's result and all verdicts."""
    from components.model import plan

    since = progress.output.size()
    playbook = (PREPARE if early else SITE,)
    result, document = play(where, environment, playbook, environ, api=not early, master=True, progress=progress)
    account = HostResults()
    if document is not None or result.code != 0:
        account.add(document, machines(environment, plan(environment)), code=result.code)
    unhealthy = {name: verdict for name, verdict in account.verdicts.items() if not verdict.state.healthy}
    if unhealthy and early and progress.output.prefix:
        progress.say(
            f"{counted(len(unhealthy), 'host')} not prepared; the phase hosts shows the reasons, and does the rest"
        )
    elif unhealthy:
        text = to_text(where.env, "run", HostResults(verdicts=unhealthy), colour=False)
        progress.say(
            f"not all hosts are as declared\n{text}\n`longhaul hosts --preflight --env {where.env}` looks at them"
        )
    if (document is None or account.unexplained) and result.code != 0 and not result.interrupted:
        progress.say(f"ansible-playbook ended with {result.code}\n{progress.output.tail(since)}".rstrip())
    return result, account
