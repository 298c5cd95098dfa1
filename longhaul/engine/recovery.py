"""Repairs after a killed run, before the next run: the stack's lock, and orphaned processes."""

from __future__ import annotations

from dataclasses import dataclass

from longhaul.engine import processes
from longhaul.engine.backend import Lock, half_written
from longhaul.engine.engine import Engine
from longhaul.engine.records import Run
from longhaul.engine.state_lock import refuse_held, release_dead
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """Repairs that were made."""

    lock: bool = False
    orphans: tuple[str, ...] = ()


def recover(engine: Engine) -> Recovered:
    """Clean up after a dead run. Raise ``CommandError`` when another run is alive, here or elsewhere."""
    run, locks = refuse_at_work(engine)
    for path in half_written(engine.backend, engine.name, engine.stack):
        path.unlink(missing_ok=True)
    released = release_dead(engine, locks)
    orphans = _reap(run) if run is not None else ()
    engine.records.clear()
    return Recovered(lock=released, orphans=orphans)


def refuse_at_work(engine: Engine) -> tuple[Run | None, list[Lock]]:
    """Raise ``CommandError`` when another run is alive, here or elsewhere; return the record and the locks of dead
    runs."""
    run = engine.records.read()
    if run is not None:
        _refuse_living(engine, run)
    locks = engine.backend.locks(engine.name, engine.stack)
    refuse_held(engine, locks)
    return run, locks


def _refuse_living(engine: Engine, run: Run) -> None:
    living = run.living()
    if living:
        named = ", ".join(f"{process.name} (process {process.pid})" for process in living)
        raise CommandError(
            f"`longhaul {run.command}` is already running for {engine.stack}: {named}. Wait for it, or stop it with "
            f"`kill -INT {living[0].pid}`."
        )


def _reap(run: Run) -> tuple[str, ...]:
    """End the processes that the dead run started. They have the run's id in their environment."""
    left = run.leftovers()
    if not left:
        return ()
    named = tuple(f"{process.name} (process {process.pid})" for process in left)
    say(f"ending processes of the killed run: {', '.join(named)}")
    processes.terminate(left)
    return named
