"""Outcome of each phase of a command, and the closing summary."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from clouds.base.phrases import names
from longhaul.engine.change import exit_code
from longhaul.engine.engine import Engine, Ran
from longhaul.engine.failure import report
from longhaul.engine.pending import pending_creates
from longhaul.report.text import table
from longhaul.terminal.exits import Exit
from longhaul.terminal.output import Output
from longhaul.terminal.progress import Progress, counts

T = TypeVar("T")

WORDS = {Exit.OK: "done", Exit.INTERRUPTED: "interrupted", Exit.REFUSED: "refused"}
"""Words for the end of a phase; any other exit code is a failure."""
ORDER = (Exit.INTERRUPTED, Exit.USAGE, Exit.REFUSED, Exit.UNREACHABLE, Exit.FAILED)
"""Order in which exit codes of phases take precedence."""


@dataclass(frozen=True, kw_only=True)
class PhaseResult:
    """Result of a phase's work."""

    code: Exit
    counts: str = ""
    """Text with the numbers of resources or hosts by result."""
    unfinished: tuple[str, ...] = ()
    """Names of operations that were stopped before they ended."""


@dataclass(frozen=True, kw_only=True)
class PhaseOutcome(PhaseResult):
    """Result of a phase, with its duration."""

    title: str
    seconds: float | None
    """Duration; None for a phase that did not begin."""
    interrupted: bool = False
    """True when a signal came, even one that came too late to end the phase."""
    decides: bool = True
    """True when the command's exit code depends on this phase."""

    @property
    def word(self) -> str:
        """Return the word for the phase's result."""
        return "not begun" if self.seconds is None else WORDS.get(self.code, "failed")


def attempt(progress: Progress, work: Callable[[], PhaseResult]) -> PhaseOutcome:
    """Run a phase, and show its beginning and its end, whatever happens. An error is shown as the error of any command
    is."""
    begun = time.monotonic()
    progress.say("begins")
    done = run_catching(work, progress.output)
    seconds = time.monotonic() - begun
    if isinstance(done, Exit):
        done = PhaseResult(code=done)
    outcome = PhaseOutcome(
        **vars(done),
        title=progress.title,
        seconds=round(seconds, 1),
        interrupted=done.code is Exit.INTERRUPTED or progress.interrupted,
    )
    progress.say(f"{outcome.word} after {seconds:.0f} s")
    return outcome


def run_catching(work: Callable[[], T], output: Output) -> T | Exit:
    """Return the function's result; when it raises, show and log the error, and return its exit code."""
    try:
        return work()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the summary comes after any error
        return report(error, output.note)


def engine_phase_result(engine: Engine, ran: Ran) -> PhaseResult:
    """Return the result of an engine's run. Unfinished operations of an interrupted run are read from the state, or
    else from its events."""
    code = exit_code(ran)
    pending = pending_creates(engine) if code is Exit.INTERRUPTED else ()
    unfinished = [creation.name for creation in pending] or list(ran.events.running)
    return PhaseResult(code=code, counts=counts(ran.events.counts()), unfinished=tuple(unfinished))


def combined_exit_code(outcomes: Sequence[PhaseOutcome]) -> Exit:
    """Return one exit code for all phases: an interruption has priority over any failure."""
    codes = [outcome.code for outcome in outcomes if outcome.decides]
    return next((code for code in ORDER if code in codes), Exit.OK)


def summary(outcomes: Sequence[PhaseOutcome], *, wanted: str, again: str, log: Path | None) -> str:
    """Return the closing lines: the verdict, a line for each phase, and what to do next. ``wanted`` is the sentence for
    success, ``again`` the command to run again."""
    code = combined_exit_code(outcomes)
    rows = [(outcome.title, outcome.word, _seconds(outcome), outcome.counts) for outcome in outcomes]
    return "\n".join(
        [
            _verdict(outcomes, code, wanted),
            *table((), rows, right=(2,), width=None),
            *(f"  {line}" for line in _next(outcomes, code, again)),
            *([f"  log: {log}"] if log is not None else []),
        ]
    )


def _seconds(outcome: PhaseOutcome) -> str:
    return "" if outcome.seconds is None else f"{outcome.seconds:.0f} s"


def _verdict(outcomes: Sequence[PhaseOutcome], code: Exit, wanted: str) -> str:
    if code is Exit.OK:
        return wanted
    ended = " and ".join(_ended(outcomes, code))
    return {
        Exit.REFUSED: "refused, for the reasons above: nothing was done",
        Exit.INTERRUPTED: f"interrupted{f' in {ended}' if ended else ''}",
    }.get(code, f"failed in {ended}; see above" if ended else "not finished; see above for the reason")


def _ended(outcomes: Sequence[PhaseOutcome], code: Exit) -> list[str]:
    """Return the phases that ran and ended with this exit code."""
    return [outcome.title for outcome in outcomes if outcome.code is code and outcome.seconds is not None]


def _next(outcomes: Sequence[PhaseOutcome], code: Exit, again: str) -> Iterator[str]:
    unfinished = [resource for outcome in outcomes for resource in outcome.unfinished]
    if unfinished and code is not Exit.OK:
        yield f"stopped half-way: {names(unfinished)}; the next run checks them"
    if code not in (Exit.OK, Exit.REFUSED):
        # A user's refusal to go on is no failure.
        repair = "repair that, and " if code is not Exit.INTERRUPTED and _ended(outcomes, code) else ""
        yield f"completed work is recorded; {repair}`{again}` continues"
