"""The racks' verdicts, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

from clouds.base.phrases import counted
from longhaul.racks.verdicts import HostResults, HostState, HostVerdict
from longhaul.report.json_output import document
from longhaul.report.text import MANY, Cell, Marked, table

SLOWEST = 10
"""Number of tasks in the profile."""


def to_json(env: str, mode: str, account: HostResults, *, profile: bool) -> str:
    """Return a JSON object with each machine's verdict, and whether all are as declared. ``mode`` is the request: run,
    check or preflight."""
    report = {
        "environment": env,
        "mode": mode,
        "healthy": all(verdict.state.healthy for verdict in account.verdicts.values()),
        "hosts": {name: asdict(verdict) for name, verdict in account.verdicts.items()},
    }
    tasks = {"tasks": {name: asdict(took) for name, took in account.tasks.items()}} if profile else {}
    return document({**report, **tasks})


def to_text(env: str, mode: str, account: HostResults, *, colour: bool) -> str:
    """Return one or more lines for each machine, and a summary."""
    verdicts = account.verdicts
    shown = (
        verdicts
        if len(verdicts) <= MANY
        else {n: verdict for n, verdict in verdicts.items() if not verdict.state.healthy}
    )
    width = max(map(len, verdicts), default=0)
    rows = [row for name, verdict in shown.items() for row in _rows(name.ljust(width), verdict, mode)]
    lines = table((), rows, indent="", width=None, colour=colour)
    counts = Counter(word(verdict.state, mode) for verdict in verdicts.values())
    return "\n".join([*lines, f"{env}: {', '.join(f'{count} {state}' for state, count in counts.items())}"])


def profile(account: HostResults) -> str:
    """Return the tasks that took longest on a single host."""
    slowest = sorted(account.tasks.items(), key=lambda task: task[1].slowest, reverse=True)[:SLOWEST]
    rows = [(f"{took.slowest:.1f}", f"{took.seconds:.1f}", str(took.hosts), name) for name, took in slowest]
    head = ("SLOWEST HOST, S", "ALL HOSTS, S", "HOSTS", "TASK")
    return "\n".join(table(head, rows, right=(0, 1, 2), indent="", width=None))


def word(state: HostState, mode: str) -> str:
    """Return the state as a word for people, which depends on the request."""
    if mode == "preflight" and state is HostState.READY:
        return "fit"
    if mode == "check" and state is HostState.CHANGED:
        return "to change"
    return str(state)


def _rows(name: str, verdict: HostVerdict, mode: str) -> Iterator[tuple[Cell, ...]]:
    first, *others = list(_reason(verdict, mode)) or [""]
    state = word(verdict.state, mode).ljust(len(HostState.UNREACHABLE))
    yield name, Marked(state, verdict.state.severity), first
    yield from (("", "", line) for line in others)


def _reason(verdict: HostVerdict, mode: str) -> Iterator[str]:
    if verdict.state.healthy:
        changes = f"{counted(verdict.changed, 'change')}, " if verdict.changed else ""
        yield f"{changes if mode != 'preflight' else ''}{verdict.seconds:.0f} s"
        return
    if verdict.task and verdict.state is not HostState.REFUSED:
        yield f"at {f'{verdict.role} : ' if verdict.role else ''}{verdict.task}"
    for message in verdict.messages:
        yield from message.splitlines()
