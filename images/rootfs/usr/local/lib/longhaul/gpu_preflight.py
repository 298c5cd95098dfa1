#!/usr/bin/env python3
"""Whether this machine's GPUs are there and well, against what /etc/longhaul/node.json promises of them.

Prints every problem in one report: a line each, or with ``--json`` one object. Exit codes: 0 all is well, 1 something
is wrong, 2 wrong use of this command, 3 it could not look at everything and saw nothing wrong in the rest, 143 it was
told to end (SIGTERM), and has ended gpu_check too.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from dataclasses import asdict, replace
from typing import Any

from gpu.findings import LookError
from gpu.preflight import HEALTHY, Report, look
from gpu.promise import Promise
from node_config import PATH


def document(report: Report) -> dict[str, Any]:
    """The report as JSON has it."""
    return {"healthy": report.exit_code == HEALTHY, **asdict(report)}


def lines(report: Report) -> list[str]:
    """The report as people read it."""
    found = [str(finding) for finding in report.findings]
    found += [f"not seen: {what}" for what in report.unseen]
    if found:
        return found
    if not report.promised:
        return ["no GPUs promised, none there"]
    models = ", ".join(sorted({gpu.name for gpu in report.gpus}))
    return [f"{report.promised} GPUs are well: {models}; driver {report.driver}, CUDA {report.cuda}"]


def _ended(number: int, _: object) -> None:
    sys.exit(128 + number)


def main() -> int:
    """The command's exit code."""
    # As an exception: gpu_check has a session of its own, so no signal to this one's group reaches it.
    signal.signal(signal.SIGTERM, _ended)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--look-only", action="store_true", help="leave gpu_check out: what disturbs nobody's work")
    arguments = parser.parse_args()
    try:
        promise = Promise.read(PATH)
        report = look(replace(promise, check=()) if arguments.look_only else promise)
    except LookError as error:
        report = Report(unseen=(str(error),))
    print(json.dumps(document(report)) if arguments.json else "\n".join(lines(report)))
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
