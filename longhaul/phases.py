"""The phases of ``longhaul up``: the infrastructure first, then hosts and objects side by side. These two wait for each
other: nodes need the permission to join, DNS needs nodes to run on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import IO, TYPE_CHECKING, TextIO

from longhaul.cluster import GIVEN, kubeconfig_file
from longhaul.context import Context
from longhaul.engine.change import change_with_pending, exit_code
from longhaul.engine.engine import Engine, engine_for, ensure_stack
from longhaul.engine.recovery import recover
from longhaul.engine.run import run_together
from longhaul.exits import Exit
from longhaul.judged import is_judged, refused, seen
from longhaul.say import say

if TYPE_CHECKING:
    from components.model import Environment


REFRESH = "--refresh"
"""The engine's option that reads the clouds first."""
DRAIN_S = 5.0
"""Time to wait for the rest of a phase's output after the phase has ended, seconds."""


class Phase(StrEnum):
    """A part of ``up`` that can run by itself."""

    INFRASTRUCTURE = "infrastructure"
    """The stack ``<env>``: networks, vault, control plane, pools, links."""
    PREPARATION = "preparation"
    """The part of gateways and bare-metal hosts that does not depend on the infrastructure, by Ansible: packages,
    binaries, units. It runs beside the first infrastructure; hosts that are nodes already are left alone."""
    RACKS = "hosts"
    """Gateways and bare-metal hosts, by Ansible."""
    OBJECTS = "objects"
    """The stack ``<env>-objects``: what runs on the cluster."""


def phases(environment: Environment) -> tuple[Phase, ...]:
    """Return the phases that an environment has."""
    from longhaul.racks.inventory import has_racks

    return tuple(Phase) if has_racks(environment) else (Phase.INFRASTRUCTURE, Phase.OBJECTS)


def run_phase(
    phase: Phase,
    where: Context,
    environment: Environment,
    words: Sequence[str],
    *,
    max_removed: float,
) -> Exit:
    """Run one phase on this terminal; ``words`` are for the engine. ``max_removed`` is the share of the nodes that may
    be removed at once."""
    match phase:
        case Phase.INFRASTRUCTURE:
            engine = engine_for(where)
            # Recovery comes first: another run that is alive may be working on the machines.
            recover(engine)
            if is_judged(engine, words):
                if refused(engine, environment, words, max_removed=max_removed):
                    return Exit.REFUSED
                words = seen(words)
            if REFRESH in words and engine.has_stack() is not False:
                from longhaul.revive import revive

                revive(environment)
            return _make(engine, words)
        case Phase.PREPARATION | Phase.RACKS:
            from longhaul.racks.rolling import run_all

            return run_all(where, environment, os.environ, early=phase is Phase.PREPARATION)
        case Phase.OBJECTS:
            with kubeconfig_file(where, environment, os.environ) as kubeconfig:
                environ = {**os.environ, "KUBECONFIG": str(kubeconfig)}
                engine = engine_for(where, environ, objects=True)
                recover(engine)
                return _make(engine, words)


def _make(engine: Engine, words: Sequence[str]) -> Exit:
    """Create the stack if needed, and change it to what the program declares."""
    ensure_stack(engine)
    return exit_code(change_with_pending(engine, "up", words))


def run_side_by_side(
    side: Sequence[Phase], where: Context, environment: Environment, words: Sequence[str]
) -> dict[Phase, Exit]:
    """Run several phases at once, each as its own command with the options ``words``. Every line of output begins with
    the phase's name. Nothing is asked. With ``--json``, only the objects' engine writes to stdout."""
    up = [sys.executable, "-m", "longhaul", "up", "--env", where.env, "--project", str(where.project.root), "--yes"]
    commands = [[*up, "--only", phase, *words] for phase in side]
    json = "--json" in words

    def reading(children: Sequence[subprocess.Popen[bytes]]) -> AbstractContextManager[None]:
        return _shown(side, children, json=json)

    with kubeconfig_file(where, environment, os.environ) as kubeconfig:
        environ = {**os.environ, GIVEN: str(kubeconfig), "PYTHONUNBUFFERED": "1"}
        results = run_together(commands, cwd=where.project.root, environ=environ, reading=reading)
    return {phase: _as_exit(result.code, exit_code(result)) for phase, result in zip(side, results, strict=True)}


def _as_exit(code: int, otherwise: Exit) -> Exit:
    """Return the exit code of the phase's own command, or ``otherwise`` when its code is none of ours."""
    return Exit(code) if code in set(Exit) else otherwise


@contextmanager
def _shown(side: Sequence[Phase], children: Sequence[subprocess.Popen[bytes]], *, json: bool) -> Iterator[None]:
    """Copy the children's output to ours, line by line, until it ends."""
    width, begun, lock = max(map(len, side)), time.monotonic(), threading.Lock()
    copies: list[tuple[IO[bytes] | None, TextIO, str, Phase | None]] = []

    def copy(source: IO[bytes], target: TextIO, prefix: str, ends: Phase | None) -> None:
        for line in source:
            with lock:
                target.write(prefix + line.decode(errors="replace"))
                target.flush()
        if ends is not None:
            say(f"{ends}: ended after {time.monotonic() - begun:.0f} s")

    for phase, child in zip(side, children, strict=True):
        prefix = f"{phase:<{width}} | "
        stdout = sys.stderr if json and phase is Phase.RACKS else sys.stdout
        plain = "" if json and phase is Phase.OBJECTS else prefix
        copies += [(child.stdout, stdout, plain, phase), (child.stderr, sys.stderr, prefix, None)]
    threads = [threading.Thread(target=copy, args=one, daemon=True) for one in copies]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        # A process that a child left behind may hold its output open; it is not waited for.
        thread.join(DRAIN_S)


def summed_up(codes: dict[Phase, Exit]) -> Exit:
    """Return one exit code for all phases: interrupted comes before failed, whatever the other phase did."""
    for code in (Exit.INTERRUPTED, Exit.USAGE, Exit.UNREACHABLE, Exit.FAILED):
        if code in codes.values():
            return code
    return Exit.OK


def timed(phase: Phase, work: Callable[[], Exit]) -> Exit:
    """Announce a phase, run it, and say how it ended."""
    say(f"{phase}: begins")
    begun = time.monotonic()
    code = work()
    took = f"{time.monotonic() - begun:.0f} s"
    say(f"{phase}: {'done' if code is Exit.OK else 'not done'} after {took}")
    return code
