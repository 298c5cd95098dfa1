"""Records of runs that change an environment, so that a later run can find the leftovers of a killed run.

Every process that a run starts inherits ``LONGHAUL_RUN=<id>``; the record has this id and the run's first two
processes.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from longhaul.engine import processes
from longhaul.engine.processes import ProcessIdentity

VARIABLE = "LONGHAUL_RUN"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of the engine."""

    id: str
    command: str
    boot: str
    namespace: str
    """PID namespace of the process numbers."""
    pid: int
    started: int
    engine_pid: int = 0
    engine_started: int = 0

    def living(self) -> list[ProcessIdentity]:
        """Return the run's command and engine, if they still run."""
        if self.boot != processes.boot_id() or self.namespace != processes.namespace():
            return []
        named = (("longhaul", self.pid, self.started), ("pulumi", self.engine_pid, self.engine_started))
        identities = (ProcessIdentity(pid=pid, started=start, name=name) for name, pid, start in named if pid)
        return [process for process in identities if processes.is_alive(process)]

    def leftovers(self) -> list[ProcessIdentity]:
        """Return the processes that this run started, directly or indirectly. They may be ended only when
        :meth:`living` returns nothing."""
        return list(processes.with_variable(VARIABLE, self.id))


def new_run(command: str) -> Run:
    """Return a new run by this process."""
    return Run(
        id=str(uuid.uuid4()),
        command=command,
        boot=processes.boot_id(),
        namespace=processes.namespace(),
        pid=os.getpid(),
        started=processes.start_ticks(os.getpid()) or 0,
    )


def with_engine(run: Run, pid: int) -> Run:
    """Return ``run`` with its engine's process."""
    return replace(run, engine_pid=pid, engine_started=processes.start_ticks(pid) or 0)


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """The file that records one environment's run."""

    path: Path

    def read(self) -> Run | None:
        """Return the last run if it was not ended properly; otherwise None."""
        try:
            return Run(**json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, run: Run) -> None:
        """Record ``run``, completely or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(asdict(run)) + "\n", encoding="utf-8")
        temporary.replace(self.path)

    def clear(self) -> None:
        """Remove the record: the run has ended and left nothing behind."""
        self.path.unlink(missing_ok=True)
