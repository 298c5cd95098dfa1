"""The lock of a stack's state: who holds it, what is reported then, and its release after a killed run."""

from __future__ import annotations

from enum import Enum, auto

from longhaul.engine import processes
from longhaul.engine.backend import Lock
from longhaul.engine.engine import Engine
from longhaul.terminal.exits import CommandError
from longhaul.terminal.say import say

CLOCK_SLACK_S = 2.0
"""Seconds by which a lock's holder may seem younger than its lock: start times have a resolution of a hundredth of a
second, and the wall clock may be stepped."""


class Holder(Enum):
    """State of the process that holds a lock."""

    DEAD = auto()
    ALIVE = auto()
    ELSEWHERE = auto()


def find_holder(lock: Lock) -> Holder:
    """Return the state of the lock's holder. The holder is alive if a process with its number runs the engine and is
    older than the lock."""
    if lock.host != processes.hostname():
        return Holder.ELSEWHERE
    start = processes.start_time(lock.pid)
    if start is None or not processes.program_name(lock.pid).startswith("pulumi"):
        return Holder.DEAD
    if lock.since is not None and start > lock.since.timestamp() + CLOCK_SLACK_S:
        return Holder.DEAD
    return Holder.ALIVE


def refuse_held(engine: Engine, locks: list[Lock]) -> None:
    """Raise ``CommandError`` when a lock's holder is alive, or runs on another machine."""
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


def release_dead(engine: Engine, locks: list[Lock]) -> bool:
    """Release locks whose holders are dead. Return whether there were any."""
    if not locks:
        return False
    named = "; ".join(_who(lock) for lock in locks)
    say(f"the last run was killed: {named} holds the lock and no longer runs; releasing it")
    engine.run_or_fail("cancel", "--yes", doing=f"the lock of {engine.stack} cannot be released")
    return True


def release_own(engine: Engine, pid: int) -> None:
    """Release the lock of our engine, process ``pid``, when the engine has ended without releasing the lock."""
    locks = engine.backend.locks(engine.name, engine.stack)
    if locks and all(lock.pid == pid and find_holder(lock) is Holder.DEAD for lock in locks):
        engine.run_or_fail("cancel", "--yes", doing=f"the lock of {engine.stack} cannot be released")


def _who(lock: Lock) -> str:
    if not lock.pid:
        return f"someone unknown ({lock.path} cannot be read)"
    since = f" since {lock.since:%Y-%m-%d %H:%M:%S %Z}" if lock.since else ""
    return f"process {lock.pid} of {lock.user} on {lock.host}{since}"
