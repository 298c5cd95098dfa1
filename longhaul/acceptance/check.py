"""A check, and the conversion of everything that can happen in it into an outcome."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clouds.base.errors import CloudError
from contract.kubernetes.connection import ApiError
from longhaul.acceptance.limit import LateError, Limit
from longhaul.acceptance.outcome import Outcome, Result
from longhaul.acceptance.waiting import Clock
from longhaul.exits import CommandError


class NotSoError(Exception):
    """The statement of a check is false; the message says what was found instead."""


class NotApplicableError(Exception):
    """The check has nothing to look at; the message says why."""


TOLD = (NotSoError, LateError, CommandError, ApiError, CloudError)
"""Errors whose message needs no addition."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One statement about an environment, and the function that tests it."""

    name: str
    shows: str
    run: Callable[[], str]
    """Returns the evidence. The check failed when it raises :class:`NotSoError` or an error of a query."""


def perform(check: Check, *, clock: Clock = time.monotonic) -> Outcome:
    """Run a check. Every exception except an interrupt becomes an outcome."""
    begun = clock()
    try:
        result, evidence = Result.PASSED, check.run()
    except NotApplicableError as error:
        result, evidence = Result.NOT_APPLICABLE, str(error)
    except TOLD as error:
        result, evidence = Result.FAILED, str(error)
    except Exception as error:  # noqa: BLE001 - a broken check must neither hide the others nor prevent the taking down
        if os.environ.get("LONGHAUL_DEBUG") == "1":
            traceback.print_exception(error)
        result = Result.FAILED
        evidence = f"the check itself failed ({type(error).__name__}); LONGHAUL_DEBUG=1 shows where, please report it"
    return Outcome(name=check.name, shows=check.shows, result=result, seconds=clock() - begun, evidence=evidence)


def perform_all(
    checks: Iterable[Check], *, limit: Limit, begins: Callable[[Check], None], tell: Callable[[Outcome], None]
) -> tuple[Outcome, ...]:
    """Run the checks one after the other. A check for which no time is left has failed."""
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
