"""A check, and how whatever happens in it becomes an outcome."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clouds.base.errors import CloudError
from longhaul.acceptance.limit import LateError, Limit
from longhaul.acceptance.outcome import Outcome, Result
from longhaul.acceptance.waiting import Clock
from longhaul.exits import CommandError
from longhaul.kubernetes.connection import ApiError


class NotSoError(Exception):
    """What a check would show is not so; the message says how it is instead."""


class NotApplicableError(Exception):
    """There is nothing that the check could show; the message says why."""


TOLD = (NotSoError, LateError, CommandError, ApiError, CloudError)
"""Errors whose message says it all."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One question about an environment."""

    name: str
    shows: str
    run: Callable[[], str]
    """Returns the evidence. :class:`NotSoError` and the errors of asking mean that it failed."""


def perform(check: Check, *, clock: Clock = time.monotonic) -> Outcome:
    """Run a check. Only an interrupt gets through."""
    begun = clock()
    try:
        result, evidence = Result.PASSED, check.run()
    except NotApplicableError as error:
        result, evidence = Result.NOT_APPLICABLE, str(error)
    except TOLD as error:
        result, evidence = Result.FAILED, str(error)
    except Exception as error:  # noqa: BLE001 - a check that breaks must neither hide the others nor stop the taking down
        if os.environ.get("LONGHAUL_DEBUG") == "1":
            traceback.print_exception(error)
        result = Result.FAILED
        evidence = f"the check itself failed ({type(error).__name__}); LONGHAUL_DEBUG=1 shows where, please report it"
    return Outcome(name=check.name, shows=check.shows, result=result, seconds=clock() - begun, evidence=evidence)


def perform_all(
    checks: Iterable[Check], *, limit: Limit, begins: Callable[[Check], None], tell: Callable[[Outcome], None]
) -> tuple[Outcome, ...]:
    """One after the other; those for which no time is left have failed."""
    found = []
    for check in checks:
        begins(check)
        outcome = perform(check if limit.left() else _late(check))
        tell(outcome)
        found.append(outcome)
    return tuple(found)


def _late(check: Check) -> Check:
    def run() -> str:
        raise NotSoError("not looked at: the time for checks was over (--most-time)")

    return Check(name=check.name, shows=check.shows, run=run)
