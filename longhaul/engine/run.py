"""Runs the engine: each signal is passed on once, and the engine never outlives the command."""

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
"""Option of prctl(2): the signal that a child gets when its parent dies."""

_WATCHED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of an engine's run."""

    code: int
    interrupted: bool
    """True when a signal asked it to end."""


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
    once. ``started`` is called with the engine's process number. ``asking`` is sent instead of any of these signals,
    for a program that accepts no other as a request to end.
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
    """Run several commands side by side, none of which asks anything, and wait for all of them. Signals are handled as
    in :func:`run_engine`. ``reading`` is entered when all are started. It reads their output from pipes to the end, in
    its own threads."""
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
    """Run a short command of the engine that asks nothing, and return its output."""
    return subprocess.run(
        argv, cwd=cwd, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@contextmanager
def _signals_held() -> Iterator[set[signal.Signals | int]]:
    """Block signals until :func:`_wait` reads them; yield the mask that was set before."""
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
    """Start a child that gets SIGINT when this command dies. ``mask`` are the signals that it blocks, ``nice`` is added
    to its niceness (nice(2))."""
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
    """Restore the mask, set the niceness, and arrange a SIGINT for when this command dies.

    A hang-up reaches the whole group, and the engine has no handler for it. So it is ignored here, and :func:`_wait`
    sends an interrupt instead.
    """
    prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.nice(nice)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if os.getppid() != parent:
        os._exit(1)


def _wait(children: Sequence[subprocess.Popen[bytes]], asking: signal.Signals | None = None) -> list[Result]:
    """Wait for all children; pass on signals that were sent to this process alone."""
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
