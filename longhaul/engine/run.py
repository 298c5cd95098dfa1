"""Running the engine: signals go through once, and it never outlives the command."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SI_USER = 0
"""``si_code`` of a signal sent by a process; the terminal's own are ``SI_KERNEL`` (sigaction(2))."""
PR_SET_PDEATHSIG = 1
"""prctl(2)."""

_PASSED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class Result:
    """How the engine ended."""

    code: int
    interrupted: bool
    """Whether a signal asked for the end."""


def run_engine(
    argv: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    stdout: IO[bytes] | None = None,
    started: Callable[[int], None] | None = None,
) -> Result:
    """Run the engine on this terminal and wait for it.

    It stays in this process group, so it can ask questions, and gets the terminal's Ctrl-C by itself: the first makes
    it finish what is under way, the second stops it. Signals that were sent to this process alone are passed on, each
    once. ``started`` is told the engine's process number.
    """
    watched = {*_PASSED, signal.SIGCHLD}
    prctl = ctypes.CDLL(None).prctl
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    parent = os.getpid()
    try:
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environ),
            stdout=stdout,
            preexec_fn=lambda: _in_child(prctl, before, parent),  # noqa: PLW1509 - there are no threads
        )
        if started is not None:
            started(child.pid)
        return _wait(child, watched)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ask_engine(argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a short command of the engine that asks nothing, and return what it wrote."""
    return subprocess.run(
        argv, cwd=cwd, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def _in_child(prctl: Callable[[int, int], int], mask: set[signal.Signals | int], parent: int) -> None:
    """Undo the mask, and end as after Ctrl-C should this command die without a word.

    A hang-up reaches the whole group, and the engine has no handler for it: it ignores it, and is interrupted instead.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if os.getppid() != parent:
        os._exit(1)


def _wait(child: subprocess.Popen[bytes], watched: set[signal.Signals]) -> Result:
    interrupted = False
    while child.poll() is None:
        info = signal.sigwaitinfo(watched)
        if info.si_signo == signal.SIGCHLD:
            continue
        interrupted = True
        if info.si_signo == signal.SIGHUP:
            child.send_signal(signal.SIGINT)
        elif info.si_code <= SI_USER:
            child.send_signal(info.si_signo)
    return Result(code=child.returncode, interrupted=interrupted)
