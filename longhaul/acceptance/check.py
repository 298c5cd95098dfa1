"""A check, and the outcome that its evidence or its error becomes."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clouds.base.errors import CloudError
from contract.kubernetes.connection import ApiError
from longhaul.acceptance.outcome import StepOutcome, StepResult
from longhaul.acceptance.time_limit import Clock, Deadline, LateError
from longhaul.terminal.exits import CommandError


class NotSoError(Exception):
    """The statement of a check is false; the message says what was found instead."""


class NotApplicableError(Exception):
    """The check has nothing to test in this environment; the message says why."""


TOLD = (NotSoError, LateError, CommandError, ApiError, CloudError)
"""Errors whose message is shown as it is."""


@dataclass(frozen=True, kw_only=True)
class AcceptanceCheck:
    """One statement about an environment, and the function that tests it."""

    name: str
    shows: str
    run: Callable[[], str]
    """Returns the evidence. The check failed when it raises :class:`NotSoError` or an error of a query."""


def perform(check: AcceptanceCheck, *, clock: Clock = time.monotonic) -> StepOutcome:
    """Run a check. Every exception except an interrupt becomes an outcome."""
    begun = clock()
    try:
        result, evidence = StepResult.PASSED, check.run()
    except NotApplicableError as error:
        result, evidence = StepResult.NOT_APPLICABLE, str(error)
    except TOLD as error:
        result, evidence = StepResult.FAILED, str(error)
    except Exception as error:  # noqa: BLE001 - a broken check must neither hide the others nor prevent the taking down
        if os.environ.get("LONGHAUL_DEBUG") == "1":
            traceback.print_exception(error)
        result = StepResult.FAILED
        evidence = f"the check itself failed ({type(error).__name__}); LONGHAUL_DEBUG=1 shows where, please report it"
    return StepOutcome(name=check.name, shows=check.shows, result=result, seconds=clock() - begun, evidence=evidence)


def perform_all(
    checks: Iterable[AcceptanceCheck],
    *,
    limit: Deadline,
    begins: Callable[[AcceptanceCheck], None],
    tell: Callable[[StepOutcome], None],
) -> tuple[StepOutcome, ...]:
    """Run the checks one after the other. A check for which no time is left has failed."""
    outcomes = []
    for check in checks:
        begins(check)
        outcome = perform(check if limit.remaining_s() else _late(check))
        tell(outcome)
        outcomes.append(outcome)
    return tuple(outcomes)


def _late(check: AcceptanceCheck) -> AcceptanceCheck:
    def run() -> str:
        raise NotSoError("not looked at: the time for checks was over (--most-time)")

    return AcceptanceCheck(name=check.name, shows=check.shows, run=run)
