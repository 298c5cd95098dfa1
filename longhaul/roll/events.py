"""Events of a roll, one line each, and its final report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from longhaul.report.json_output import line
from longhaul.roll.next_steps import RollState
from longhaul.terminal.exits import Exit
from longhaul.terminal.printable import one_line
from longhaul.terminal.say import say

SHOWN = 40
"""Number of machines that the final text names; ``--json`` has all."""


class RollEventKind(StrEnum):
    """Kind of an event."""

    CORDONED = "cordoned"
    UNCORDONED = "uncordoned"
    WAITING = "waiting"
    RELEASED = "released"
    EMPTYING = "emptying"
    BLOCKED = "blocked"
    REPLACING = "replacing"
    JOINING = "joining"
    READY = "ready"
    KEPT = "kept"
    FAILED = "failed"
    RETRY = "retry"


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event of a roll."""

    kind: RollEventKind
    detail: str
    node: str = ""
    machine: str = ""
    """The machine's name in the cloud."""


Tell = Callable[[Event], None]


@dataclass(frozen=True, kw_only=True)
class RollReport:
    """State of a pool at the end of a roll, complete or not."""

    environment: str
    pool: str
    target: str
    states: Mapping[str, RollState]
    """States by node name."""
    reasons: Mapping[str, str]
    """Reasons why machines are not current, by node name."""
    failed: Mapping[str, str]
    """Machines that were given up, each with the reason."""
    replaced: int
    """Number of machines whose replacement this run has finished or begun."""
    stopped: str = ""
    """Reason why the roll ended early; empty when the roll was complete."""
    interrupted: bool = False

    @property
    def healthy(self) -> bool:
        """Return whether every machine is current."""
        return not (self.failed or self.stopped or self.interrupted or self.old)

    @property
    def old(self) -> list[str]:
        """Return the nodes whose machine is not current, or not in service."""
        return sorted(name for name, state in self.states.items() if state is not RollState.CURRENT)

    def exit_code(self) -> Exit:
        """Return the exit code of the command."""
        if self.interrupted:
            return Exit.INTERRUPTED
        return Exit.OK if self.healthy else Exit.FAILED


def as_lines(event: Event) -> None:
    """Print an event for people."""
    detail = one_line(event.detail)
    say(f"{event.node}: {detail}" if event.node else detail)


def as_json(event: Event) -> None:
    """Print an event for programs: one object a line."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    fields = {"event": str(event.kind), "at": at, "node": event.node, "machine": event.machine, "detail": event.detail}
    _print({key: value for key, value in fields.items() if value})


def report_json(report: RollReport) -> None:
    """Print the report as the last line, for programs."""
    _print(
        {
            "event": "report",
            "environment": report.environment,
            "pool": report.pool,
            "target": report.target,
            "healthy": report.healthy,
            "replaced": report.replaced,
            "nodes": {name: str(state) for name, state in sorted(report.states.items())},
            "reasons": dict(sorted(report.reasons.items())),
            "failed": dict(sorted(report.failed.items())),
            "stopped": report.stopped,
            "interrupted": report.interrupted,
        }
    )


def report_text(report: RollReport) -> str:
    """Return the report for people, with every machine that is not current."""
    counts = Counter(report.states.values())
    summary = ", ".join(f"{counts[state]} {state}" for state in RollState if counts[state]) or "no machines"
    lines = [f"{report.environment}, pool {report.pool}, {report.target}: {summary}; {report.replaced} replaced"]
    named = sorted({*report.old, *report.failed})
    for name in named[:SHOWN]:
        reason = report.failed.get(name) or report.reasons.get(name, "")
        state = "failed" if name in report.failed else str(report.states.get(name, ""))
        lines.append(f"  {name}  {state}{f': {one_line(reason)}' if reason else ''}")
    if len(named) > SHOWN:
        lines.append(f"  and {len(named) - SHOWN} others: --json names them")
    if report.stopped:
        lines.append(f"stopped: {one_line(report.stopped)}")
    return "\n".join(lines)


def _print(value: Mapping[str, object]) -> None:
    print(line(value), flush=True)
