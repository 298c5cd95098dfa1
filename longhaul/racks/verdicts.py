"""One verdict for each machine of the racks, from the results that playbooks/callback_plugins/verdicts.py wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from signal import SIGINT, SIGTERM
from typing import Any, Literal, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from clouds.base.findings import Severity
from longhaul.racks.inventory import OnpremMachine
from longhaul.terminal.exits import Exit

PREFLIGHT = "preflight"
"""Role that can refuse a machine."""
WRONG_KEY = "Host key verification failed"
"""OpenSSH's message when a machine's key differs from the pinned key (tested with 9.2)."""


class HostState(StrEnum):
    """State of a machine after a run."""

    READY = "ready"
    """As declared, without a change. In a preflight: it found no fault."""
    CHANGED = "changed"
    """As declared, after changes. With ``--check``: it would be changed."""
    HELD = "held"
    """A node that was left unchanged, since an upgrade would replace programs under its pods."""
    FAILED = "failed"
    REFUSED = "refused"
    """Preflight found faults, and nothing was changed."""
    UNREACHABLE = "unreachable"
    UNFINISHED = "unfinished"
    """The run ended before it finished the machine."""
    NOT_BEGUN = "not-begun"
    """The run stopped before the machine's batch."""

    @property
    def healthy(self) -> bool:
        """Return whether nothing is left to do."""
        return self.severity is Severity.OK

    @property
    def severity(self) -> Severity:
        """Return the severity of the state."""
        return _SEVERITIES.get(self, Severity.PROBLEM)


_SEVERITIES = {
    **dict.fromkeys((HostState.READY, HostState.CHANGED), Severity.OK),
    **dict.fromkeys((HostState.HELD, HostState.NOT_BEGUN, HostState.UNFINISHED), Severity.WARNING),
}
"""Severity of each state that is not a problem."""


class Failed(TypedDict):
    """A failure, as the callback writes it."""

    task: str
    role: str | None
    messages: list[str]


class WrittenHost(TypedDict):
    """Results of one host, as the callback writes them."""

    state: Literal["ok", "changed", "failed", "unreachable", "unfinished", "held"]
    changed: int
    seconds: float
    failed: Failed | None
    hold_reasons: NotRequired[list[str]]


class VerdictDocument(TypedDict):
    """The callback's document about a run."""

    failed: Failed | None
    hosts: dict[str, WrittenHost]
    tasks: dict[str, Took]


@dataclass(frozen=True, kw_only=True)
class HostVerdict:
    """Verdict of one machine."""

    state: HostState
    changed: int = 0
    """Number of tasks that changed something."""
    task: str | None = None
    """Name of the task that failed."""
    role: str | None = None
    messages: tuple[str, ...] = ()
    """Reasons; for a refusal, each fault separately."""
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Took:
    """Duration of a task, seconds."""

    hosts: int
    seconds: float
    """Sum over all hosts."""
    slowest: float
    """Longest time on one host."""


@dataclass(kw_only=True)
class HostResults:
    """Results of all machines, batch by batch."""

    verdicts: dict[str, HostVerdict] = field(default_factory=dict)
    tasks: dict[str, Took] = field(default_factory=dict)
    interrupted: bool = False
    unexplained: int = 0
    """Exit code of Ansible when no machine's verdict explains it; otherwise 0."""

    @property
    def failures(self) -> int:
        """Return the number of machines that are neither as declared nor held."""
        return sum(not (verdict.state.healthy or verdict.state is HostState.HELD) for verdict in self.verdicts.values())

    def add(self, document: VerdictDocument | None, machines: Iterable[OnpremMachine], *, code: int) -> None:
        """Add the results of a run for its machines; ``code`` is Ansible's exit code."""
        hosts: Mapping[str, WrittenHost] = document["hosts"] if document else {}
        run_failed = document["failed"] if document else None
        of_run = {machine.name: _verdict(hosts.get(machine.name), machine, run_failed, code) for machine in machines}
        self.verdicts |= of_run
        if code and all(verdict.state.healthy for verdict in of_run.values()):
            self.unexplained = code
        for name, took in (document["tasks"] if document else {}).items():
            before = self.tasks.get(name, Took(hosts=0, seconds=0.0, slowest=0.0))
            self.tasks[name] = Took(
                hosts=before.hosts + took.hosts,
                seconds=round(before.seconds + took.seconds, 3),
                slowest=max(before.slowest, took.slowest),
            )

    def add_not_begun(self, machines: Iterable[OnpremMachine]) -> None:
        """Record machines whose batch did not begin."""
        self.verdicts |= {machine.name: HostVerdict(state=HostState.NOT_BEGUN) for machine in machines}

    def exit_code(self) -> Exit:
        """Return the exit code. It is 3 only when no machine at all could be reached."""
        states = {verdict.state for verdict in self.verdicts.values()}
        if self.interrupted:
            return Exit.INTERRUPTED
        if all(state.healthy for state in states):
            return Exit.FAILED if self.unexplained else Exit.OK
        return Exit.UNREACHABLE if states <= {HostState.UNREACHABLE, HostState.NOT_BEGUN} else Exit.FAILED


def read(path: Path) -> VerdictDocument | None:
    """Read the callback's document; None when it is missing or incomplete, as when Ansible was killed."""
    try:
        return TypeAdapter(VerdictDocument).validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def _verdict(host: WrittenHost | None, machine: OnpremMachine, run_failed: Failed | None, code: int) -> HostVerdict:
    if host is None or host["state"] == "unfinished":
        why = _what(run_failed) if run_failed else {"messages": (_ended(code),)}
        done: dict[str, Any] = {"changed": host["changed"], "seconds": host["seconds"]} if host else {}
        return HostVerdict(state=HostState.UNFINISHED, **why, **done)
    failed, reasons = host["failed"], host.get("hold_reasons", [])
    if host["state"] == "held":
        return HostVerdict(state=HostState.HELD, messages=tuple(reasons), seconds=host["seconds"])
    return HostVerdict(
        **(_failure(host["state"], failed, machine) if failed else {"state": _state(host["state"])}),
        changed=host["changed"],
        seconds=host["seconds"],
    )


def _ended(code: int) -> str:
    ended = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
    return f"ansible-playbook {'was interrupted' if -code in (SIGINT, SIGTERM) else ended} before it did"


def _state(state: str) -> HostState:
    return {"ok": HostState.READY, "changed": HostState.CHANGED}.get(state) or HostState(state)


def _failure(state: str, failed: Failed, machine: OnpremMachine) -> dict[str, Any]:
    what = _what(failed)
    text = "\n".join(what["messages"])
    if state == HostState.UNREACHABLE and WRONG_KEY in text:
        shown = f", {match[0]}," if (match := re.search(r"SHA256:[\w+/]+", text)) else ""
        line = (
            f"its SSH host key{shown} is not the pinned one ({machine.pin_at}): find out which machine answers, and why"
        )
        return {**what, "state": HostState.REFUSED, "messages": (line,)}
    refused = state == HostState.FAILED and failed["role"] == PREFLIGHT
    return {**what, "state": HostState.REFUSED if refused else _state(state)}


def _what(failed: Failed) -> dict[str, Any]:
    messages: Sequence[str] = failed["messages"]
    return {"task": failed["task"], "role": failed["role"], "messages": tuple(messages)}
