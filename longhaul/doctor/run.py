"""Runs checks side by side, each with a time limit. Any exception in a check becomes a finding."""

from __future__ import annotations

import os
import queue
import time
import traceback
from collections import deque
from dataclasses import replace
from threading import Thread

from clouds.base.doctor import DoctorQuestion
from clouds.base.findings import Finding, NotAskedError, folded, unknown

AT_ONCE = 8
"""Default number of checks that run at the same time."""


def run_checks(checks: tuple[DoctorQuestion, ...], *, limit_s: float, at_once: int = AT_ONCE) -> tuple[Finding, ...]:
    """Return all findings; equal findings are merged. A check that exceeds ``limit_s`` seconds is abandoned: its thread
    ends with the program, and the next check takes its place."""
    waiting = deque(enumerate(checks))
    running: dict[int, float] = {}
    findings: dict[int, tuple[Finding, ...]] = {}
    answers: queue.SimpleQueue[tuple[int, tuple[Finding, ...]]] = queue.SimpleQueue()
    while waiting or running:
        while waiting and len(running) < at_once:
            index, check = waiting.popleft()
            running[index] = time.monotonic() + limit_s
            Thread(target=lambda index=index, check=check: answers.put((index, _answer(check))), daemon=True).start()
        try:
            index, answer = answers.get(timeout=max(min(running.values()) - time.monotonic(), 0.0))
        except queue.Empty:
            late = [index for index, until in running.items() if until <= time.monotonic()]
            findings |= {index: (_late(checks[index], limit_s),) for index in late}
        else:
            late = [index] if index in running else []
            findings |= dict.fromkeys(late, answer)
        for index in late:
            del running[index]
    return folded(tuple(finding for index in range(len(checks)) for finding in findings[index]))


def _answer(check: DoctorQuestion) -> tuple[Finding, ...]:
    findings: list[Finding] = []
    try:
        findings.extend(check.run())
    except NotAskedError as error:
        findings.append(unknown(f"not asked: {error}", *check.where, do=error.do))
    except Exception as error:  # noqa: BLE001 - a broken check must not hide what the others found
        if os.environ.get("LONGHAUL_DEBUG") == "1":
            traceback.print_exception(error)
        what = f"the check itself failed ({type(error).__name__})"
        findings.append(unknown(what, *check.where, do="LONGHAUL_DEBUG=1 shows where; please report it"))
    return tuple(replace(finding, check=check.name) for finding in findings)


def _late(check: DoctorQuestion, limit_s: float) -> Finding:
    what = f"no answer within {limit_s:g} s"
    return replace(unknown(what, *check.where, do="run it again, or give it longer (--timeout)"), check=check.name)
