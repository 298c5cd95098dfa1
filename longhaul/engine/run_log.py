"""Log files of runs that change an environment: one for each run, readable only by their owner. The last few logs are
kept, and the logs of running commands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from longhaul.engine.processes import start_ticks
from longhaul.project.context import Context, state_folder

KEPT = 10
"""Number of logs that are kept for each environment and command. Ten runs are some days of work; our own choice."""


def new_log(where: Context, command: str, environ: Mapping[str, str]) -> Path:
    """Create an empty log file and return its path. A lab's logs are in ``.lab/log``, with its other logs."""
    folder = (where.lab.folder.parent if where.lab is not None else state_folder(where, environ)) / "log"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{where.env}-{command}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}.log"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    for old in sorted(folder.glob(f"{where.env}-{command}-[0-9]*.log"))[:-KEPT]:
        if not _is_at_work(old):
            old.unlink(missing_ok=True)
    return path


def _is_at_work(log: Path) -> bool:
    """Return whether a process with the number in the log's name runs."""
    pid = log.stem.rpartition("-")[2]
    return pid.isdecimal() and start_ticks(int(pid)) is not None
