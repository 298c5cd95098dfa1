"""Check that the GPUs that /etc/longhaul/node.json promises are present and healthy.

The program prints all problems: one line for each, or one JSON object with ``--json``. Exit codes: 0 all GPUs are
healthy, 1 a problem was found, 2 wrong use of this command, 3 some checks could not be made and the others found no
problem, 143 the program was ended by SIGTERM and has ended gpu_check too.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from dataclasses import asdict, replace
from typing import Any

from contract.documents.node import PATH
from gpu.checks import HEALTHY, PreflightReport, look
from gpu.declared_gpus import read_declared_gpus
from gpu.findings import LookError


def document(report: PreflightReport) -> dict[str, Any]:
    """Return the report as a JSON object."""
    return {"healthy": report.exit_code == HEALTHY, **asdict(report)}


def lines(report: PreflightReport) -> list[str]:
    """Return the report as lines for people."""
    problems = [str(finding) for finding in report.findings]
    problems += [f"not seen: {what}" for what in report.unseen]
    if problems:
        return problems
    if not report.promised:
        return ["no GPUs promised, none there"]
    models = ", ".join(sorted({gpu.name for gpu in report.gpus}))
    return [f"{report.promised} GPUs are healthy: {models}; driver {report.driver}, CUDA {report.cuda}"]


def _ended(number: int, _: object) -> None:
    sys.exit(128 + number)


def main() -> int:
    """Run the command and return its exit code."""
    # SIGTERM raises an exception, so that gpu_check is ended too: it has a session of its own, which no signal to this
    # process's group reaches.
    signal.signal(signal.SIGTERM, _ended)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--look-only", action="store_true", help="leave gpu_check out: what disturbs nobody's work")
    arguments = parser.parse_args()
    try:
        promise = read_declared_gpus(PATH)
        report = look(replace(promise, check=()) if arguments.look_only else promise)
    except LookError as error:
        report = PreflightReport(unseen=(str(error),))
    print(json.dumps(document(report)) if arguments.json else "\n".join(lines(report)))
    return report.exit_code
