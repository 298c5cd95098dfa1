"""Running the engine: signals go through once, and it never outlives the command."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

SI_USER = 0
"""``si_code`` of a signal sent by a process; the terminal's own are ``SI_KERNEL`` (sigaction(2))."""
PR_SET_PDEATHSIG = 1
"""prctl(2)."""

_WATCHED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}


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
    asking: signal.Signals | None = None,
) -> Result:
    """Run the engine on this terminal and wait for it.

    It stays in this process group, so it can ask questions, and gets the terminal's Ctrl-C by itself: the first makes
    it finish what is under way, the second stops it. Signals that were sent to this process alone are passed on, each
    once. ``started`` is told the engine's process number. ``asking`` is passed on instead of any of them, to a program
    that takes no other for a request to end.
    """
    with _signals_held() as before:
        child = start(argv, cwd=cwd, environ=environ, mask=before, stdout=stdout)
        if started is not None:
            started(child.pid)
        return _wait([child], asking)[0]


def run_together(
    commands: Sequence[Sequence[str]],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    reading: Callable[[Sequence[subprocess.Popen[bytes]]], AbstractContextManager[None]],
) -> list[Result]:
    """Run several commands side by side, none of which asks anything, and wait for all of them. Signals as for
    :func:`run_engine`. ``reading`` is entered with all of them started, to read their output from pipes until its end,
    in threads of its own."""
    with _signals_held() as before:
        children = [
            start(
                argv,
                cwd=cwd,
                environ=environ,
                mask=before,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for argv in commands
        ]
        with reading(children):
            return _wait(children)


def ask_engine(argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a short command of the engine that asks nothing, and return what it wrote."""
    return subprocess.run(
        argv, cwd=cwd, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@contextmanager
def _signals_held() -> Iterator[set[signal.Signals | int]]:
    """Signals wait to be looked at by :func:`_wait`; gives the mask that held before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str] | None = None,
    mask: set[signal.Signals | int] | None = None,
    nice: int = 0,
    **streams: Any,
) -> subprocess.Popen[bytes]:
    """A child that is interrupted should this command die without a word. ``mask`` are the signals that it blocks,
    ``nice`` is how much it stands back for others (nice(2))."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ()) if mask is None else mask
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
    return subprocess.Popen(
        argv,
        cwd=cwd,
        env=None if environ is None else dict(environ),
        preexec_fn=lambda: _in_child(prctl, mask, parent, nice),  # noqa: PLW1509 - there are no threads yet
        **streams,
    )


def _in_child(prctl: Callable[[int, int], int], mask: set[signal.Signals | int], parent: int, nice: int) -> None:
    """Undo the mask, and end as after Ctrl-C should this command die without a word.

    A hang-up reaches the whole group, and the engine has no handler for it: it ignores it, and is interrupted instead.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.nice(nice)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if os.getppid() != parent:
        os._exit(1)


def _wait(children: Sequence[subprocess.Popen[bytes]], asking: signal.Signals | None = None) -> list[Result]:
    """Wait for all of them, passing on what was sent to this process alone."""
    interrupted = False
    while running := [child for child in children if child.poll() is None]:
        info = signal.sigwaitinfo(_WATCHED)
        if info.si_signo == signal.SIGCHLD:
            continue
        interrupted = True
        for child in running:
            if info.si_signo == signal.SIGHUP:
                child.send_signal(asking or signal.SIGINT)
            elif info.si_code <= SI_USER:
                child.send_signal(asking or info.si_signo)
    return [Result(code=child.returncode, interrupted=interrupted) for child in children]
