"""Test this node's GPUs after each boot, check them repeatedly, and report to the cluster whether they are healthy.

The report consists of two conditions of the Node, labels that describe the GPUs, and an Event for each change of the
verdict. By the conditions, the node controller removes the taint with which the node registered, or adds it again. A
failed test is repeated after longer and longer pauses. On a machine without promised GPUs the program ends with 0.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from contract.annotations import GPU_BOOT
from contract.conditions import GPU_HEALTHY
from contract.documents.node import PATH, GpuPromise
from contract.kubernetes.connection import ApiError, Object
from gpu import features
from gpu.declared_gpus import read_declared_gpus
from gpu.findings import LookError
from gpu.names import BOOT_ID
from gpu.own_node import COMPONENT, NotRegisteredError, OwnNode, by_type, tainted, this_node
from gpu.preflight_run import NoReportError, PreflightRun
from gpu.verdict import BAD, GOOD, IN_USE, OPEN, UNTAINTED, GpuVerdict, broke_off, conditions, judge, mismatch

log = logging.getLogger("gpu.report")

AGENT = "longhaul-gpu-report"

WELL_S = 300.0
"""Seconds between checks of healthy GPUs: the interval at which the kubelet reports an unchanged status (default of
``nodeStatusReportFrequency``)."""
FIRST_S = 15.0
LAST_S = 900.0
"""First and longest pause in seconds after a failed test. Each pause is twice the previous pause."""
WAIT_S = 30.0
"""Longest pause in seconds while no test is possible: a pod still has GPUs, or the taint is missing."""
RETRY_S = 3.0
"""Pause in seconds while the API does not answer, or the kubelet has not registered the Node."""


class Preflight(Protocol):
    """Source of preflight reports."""

    def run(self, *, check: bool) -> dict[str, Any]:
        """Return the preflight's report. Raise ``NoReportError`` if there is none."""


class Reporter:
    """Program that determines a node's verdict and writes it to the Node."""

    def __init__(self, node: OwnNode, promise: GpuPromise, preflight: Preflight, *, boot: str) -> None:
        self._node, self._promise, self._preflight, self._boot = node, promise, preflight, boot

    def step(self) -> GpuVerdict:
        """Check the GPUs, write changes to the Node, and return the verdict. Raise ``ApiError`` or
        ``NotRegisteredError`` if the Node cannot be read or written."""
        node = self._node.read()
        verdict, differs, labels = self._verdict(node)
        before = by_type(node)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        gpu_conditions = conditions(verdict, differs, before=before, now=now)
        if not self._known(node, gpu_conditions, labels):
            self._node.write(conditions=gpu_conditions, labels=labels, annotations={GPU_BOOT: self._boot})
        was = before.get(GPU_HEALTHY, {})
        if (was.get("status"), was.get("reason")) != (verdict.status, verdict.reason):
            self._node.say(reason=verdict.reason, message=verdict.message, warning=verdict.status == BAD)
        return verdict

    def _verdict(self, node: Object) -> tuple[GpuVerdict, GpuVerdict, dict[str, str]]:
        there = node["metadata"].get("labels", {})
        waits = self._waits(node)
        try:
            report = self._preflight.run(check=bool(self._promise.check) and waits is None and not self._passed(node))
        except NoReportError as error:
            unknown = GpuVerdict(status=OPEN, reason="NoDriverAnswers", message=f"see {GPU_HEALTHY}")
            return broke_off(str(error)), unknown, features.labels({}, there=there)
        verdict = judge(report)
        if waits is not None and verdict.good:
            verdict = waits
        return verdict, mismatch(report), features.labels(report, there=there)

    def _passed(self, node: Object) -> bool:
        """Return whether the GPUs have passed their test since this boot, and no later check found a problem."""
        boot = node["metadata"].get("annotations", {}).get(GPU_BOOT)
        return bool(boot == self._boot and by_type(node).get(GPU_HEALTHY, {}).get("status") == GOOD)

    def _waits(self, node: Object) -> GpuVerdict | None:
        """Return the verdict while a needed trial of memory and compute cannot have all GPUs; otherwise None. The taint
        is checked before the pods, because no further pods come once the taint is set."""
        if not self._promise.check or self._passed(node):
            return None
        if not tainted(node):
            message = "the test begins once the node controller has put the taint back that keeps pods away meanwhile"
            return GpuVerdict(status=OPEN, reason=UNTAINTED, message=message)
        holders = self._node.holders()
        if not holders:
            return None
        more = f" and {len(holders) - 3} more" if len(holders) > 3 else ""
        message = f"the test needs all GPUs, and waits for the end of {', '.join(holders[:3])}{more}"
        return GpuVerdict(status=OPEN, reason=IN_USE, message=message)

    def _known(self, node: Object, gpu_conditions: list[dict[str, str]], labels: dict[str, str]) -> bool:
        """Return whether the Node already has these conditions and labels, written in this boot."""
        metadata, before = node["metadata"], by_type(node)
        fields = ("status", "reason", "message")
        return (
            metadata.get("annotations", {}).get(GPU_BOOT) == self._boot
            and labels.items() <= metadata.get("labels", {}).items()
            and all(
                condition[field] == before.get(condition["type"], {}).get(field)
                for condition in gpu_conditions
                for field in fields
            )
        )


class Pace:
    """Pauses between checks."""

    def __init__(self) -> None:
        self._next_s, self._reported_reason = FIRST_S, ""

    def after(self, verdict: GpuVerdict) -> float:
        """Return the seconds until the next check. A verdict with a new reason begins with the shortest pause."""
        if verdict.good:
            self._next_s, self._reported_reason = FIRST_S, ""
            return WELL_S
        if verdict.reason != self._reported_reason:
            self._next_s, self._reported_reason = FIRST_S, verdict.reason
        pause = min(self._next_s, LAST_S if verdict.status == BAD else WAIT_S)
        self._next_s = min(self._next_s * 2, LAST_S)
        return pause


def run(reporter: Reporter, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Run steps for ever."""
    pace, reported = Pace(), ""
    while True:
        try:
            pause, reported = pace.after(reporter.step()), ""
        except (ApiError, NotRegisteredError) as error:
            if str(error) != reported:
                reported = str(error)
                log.warning("not yet: %s", reported)
            pause = RETRY_S
        # Each pause is random, so that nodes that start together do not ask together.
        sleep(random.uniform(0.9, 1.1) * pause)  # noqa: S311  (no secret)


def main() -> int:
    """Run the service and return its exit code."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    # The format has no time, because the journal adds it.
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        promise = read_declared_gpus(PATH)
        if not promise.gpus:
            print("no GPUs are promised: nothing to look at")
            return 0
        reporter = Reporter(
            this_node(agent=AGENT, component=COMPONENT), promise, PreflightRun(), boot=Path(BOOT_ID).read_text().strip()
        )
    except (LookError, OSError, ValueError, TypeError, AttributeError) as error:
        print(error, file=sys.stderr)
        return 1
    run(reporter)
    return 0
