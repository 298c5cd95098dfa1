"""Runs that change an environment: each is recorded, and its lock is always released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from longhaul.engine import processes
from longhaul.engine.engine import Engine, Ran
from longhaul.engine.execution import EngineResult
from longhaul.engine.pending import adopt, existing_resources, forget, pending_creates, read_adopted, remember
from longhaul.engine.records import VARIABLE, new_run, with_engine
from longhaul.engine.state_lock import release_own
from longhaul.terminal.exits import Exit
from longhaul.terminal.say import say


def exit_code(result: EngineResult) -> Exit:
    """Return the command's exit code for the engine's result. A run that finished before a signal took effect
    succeeded."""
    if result.code == 0:
        return Exit.OK
    return Exit.INTERRUPTED if result.interrupted else Exit.FAILED


def change(engine: Engine, verb: str, arguments: Sequence[str]) -> Ran:
    """Run ``pulumi VERB`` as a recorded run."""
    run = new_run(verb)
    engine.records.write(run)
    marked = replace(engine, environ={**engine.environ, VARIABLE: run.id})
    pids: list[int] = []

    def note(pid: int) -> None:
        pids.append(pid)
        engine.records.write(with_engine(run, pid))

    result = marked.follow([*marked.argv(verb, configured=True), *arguments], started=note)
    if result.code != 0 and pids:
        release_own(engine, pids[0])
    # Plugins end with their engine; an engine that was stopped half-way may leave some behind.
    processes.terminate(run.leftovers())
    engine.records.clear()
    return result


def change_with_pending(engine: Engine, verb: str, arguments: Sequence[str]) -> Ran:
    """Run like :func:`change`, for a stack whose last run may have been killed while it created a resource."""
    pending = pending_creates(engine)
    if not pending:
        return change(engine, verb, arguments)
    say(
        f"the last run died while it was making {', '.join(str(creation) for creation in pending)}; checking "
        "whether it exists"
    )
    remember(engine, pending)
    read_adopted(engine, pending)
    result = change(engine, verb, arguments)
    ids = existing_resources(result.events.errors, pending)
    if result.code != 0 and not result.interrupted and ids:
        adopt(engine, ids)
        read_adopted(engine, pending)
        result = change(engine, verb, arguments)
    if result.code == 0:
        forget(engine)
    return result
