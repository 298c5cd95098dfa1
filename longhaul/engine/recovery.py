"""Repairs after a killed run, before the next run: the stack's lock, and orphaned processes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from longhaul.engine import processes
from longhaul.engine.backend import Lock, half_written
from longhaul.engine.engine import Engine
from longhaul.engine.records import Run
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say

CLOCK_SLACK_S = 2.0
"""Largest time by which a lock's holder may seem to have started after its lock, seconds: start times have a resolution
of a hundredth of a second, and the wall clock may be stepped."""


class Holder(Enum):
    """State of the process that holds a lock."""

    DEAD = auto()
    ALIVE = auto()
    ELSEWHERE = auto()


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
    released = _release(engine, locks)
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
    _refuse_held(engine, locks)
    return run, locks


def find_holder(lock: Lock) -> Holder:
    """Return whether the lock's holder still runs: a process with its number that runs the engine and is older than the
    lock."""
    if lock.host != processes.hostname():
        return Holder.ELSEWHERE
    start = processes.start_time(lock.pid)
    if start is None or not processes.program_name(lock.pid).startswith("pulumi"):
        return Holder.DEAD
    if lock.since is not None and start > lock.since.timestamp() + CLOCK_SLACK_S:
        return Holder.DEAD
    return Holder.ALIVE


def release_own(engine: Engine, pid: int) -> None:
    """Release the lock of our engine, process ``pid``, when it ended without releasing it."""
    locks = engine.backend.locks(engine.name, engine.stack)
    if locks and all(lock.pid == pid and find_holder(lock) is Holder.DEAD for lock in locks):
        engine.run_or_fail("cancel", "--yes", doing=f"the lock of {engine.stack} cannot be released")


def _refuse_living(engine: Engine, run: Run) -> None:
    living = run.living()
    if living:
        named = ", ".join(f"{process.name} (process {process.pid})" for process in living)
        raise CommandError(
            f"`longhaul {run.command}` is already at work on {engine.stack}: {named}. "
            f"Wait for it, or stop it with `kill -INT {living[0].pid}`."
        )


def _refuse_held(engine: Engine, locks: list[Lock]) -> None:
    for lock in locks:
        match find_holder(lock):
            case Holder.ALIVE:
                raise CommandError(
                    f"{engine.stack} is being changed by {_who(lock)}. "
                    f"Wait for it, or stop it with `kill -INT {lock.pid}`."
                )
            case Holder.ELSEWHERE:
                raise CommandError(
                    f"{engine.stack} is locked by {_who(lock)}, which cannot be seen from here. Once you are sure that "
                    f"it is not running, release the lock with `pulumi cancel --stack {engine.stack}`."
                )
            case Holder.DEAD:
                continue


def _release(engine: Engine, locks: list[Lock]) -> bool:
    """Release locks whose holders are dead. Return whether there were any."""
    if not locks:
        return False
    named = "; ".join(_who(lock) for lock in locks)
    say(f"the last run was killed: {named} holds the lock and no longer runs; releasing it")
    engine.run_or_fail("cancel", "--yes", doing=f"the lock of {engine.stack} cannot be released")
    return True


def _who(lock: Lock) -> str:
    if not lock.pid:
        return f"someone unknown ({lock.path} cannot be read)"
    since = f" since {lock.since:%Y-%m-%d %H:%M:%S %Z}" if lock.since else ""
    return f"process {lock.pid} of {lock.user} on {lock.host}{since}"


def _reap(run: Run) -> tuple[str, ...]:
    """End the processes that the dead run started; they have its id in their environment."""
    left = run.leftovers()
    if not left:
        return ()
    named = tuple(f"{process.name} (process {process.pid})" for process in left)
    say(f"ending what the killed run left behind: {', '.join(named)}")
    processes.terminate(left)
    return named
