"""Runs the engine: each signal is passed on once, and the engine never outlives the command."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from longhaul.client.signals import ENDING, handled

SI_USER = 0
"""``si_code`` of a signal sent by a process; the terminal's own are ``SI_KERNEL`` (sigaction(2))."""
PR_SET_PDEATHSIG = 1
"""Option of prctl(2): the signal that a child gets when its parent dies."""

LOOK_S = 0.2
"""Time between two looks at what a child does, seconds."""

_WATCHED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
"""Signals to read. Those that end a program stay ignored where they are (:func:`handled`). SIGINT does not: one process
of this program asks another by it to end."""


@dataclass(frozen=True, kw_only=True)
class EngineResult:
    """Result of an engine's run."""

    code: int
    interrupted: bool
    """True when a signal asked it to end."""


def run_engine(
    argv: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    stdout: IO[bytes] | int | None = None,
    stderr: IO[bytes] | int | None = None,
    started: Callable[[int], None] | None = None,
    interrupted: Callable[[], None] | None = None,
    look: Callable[[], None] | None = None,
    asking: signal.Signals | None = None,
) -> EngineResult:
    """Run the engine on this terminal and wait for it.

    It stays in this process group, so it can ask questions, and gets the terminal's Ctrl-C by itself: the first makes
    it finish what is under way, the second stops it. Signals that were sent to this process alone are passed on, each
    once. ``started`` is called with the engine's process number, ``interrupted`` after the first signal,
    and ``look`` every now and then while the engine runs. ``asking`` is sent instead of any of these signals, for a
    program that accepts no other as a request to end.
    """
    with _signals_held() as before:
        child = start(argv, cwd=cwd, environ=environ, mask=before, stdout=stdout, stderr=stderr)
        if started is not None:
            started(child.pid)
        return _wait([child], asking, interrupted, look)[0]


class Fork:
    """A copy of this process that does a part of its work. It can be waited for as a ``Popen`` can."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int | None:
        """Wait for its end, and return the exit code."""
        return self._wait(0)

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _wait(self, how: int) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, how)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode


def run_together(works: Sequence[Callable[[], int]]) -> list[EngineResult]:
    """Do several works side by side, each in a copy of this process and none of which asks anything, and wait for all
    of them. Each returns its exit code. Signals are handled as in :func:`run_engine`."""
    with _signals_held() as before:
        return _wait([fork(work, mask=before) for work in works])


def fork(work: Callable[[], int], *, mask: set[signal.Signals | int] | None = None, nice: int = 0) -> Fork:
    """Do some work in a copy of this process, which gets SIGINT when this process dies, and nothing to read. So the
    work has all that this process knows. ``mask`` and ``nice`` as in :func:`start`."""
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    # A signal that came between the fork and the child's `try` would make the child go on as this process.
    with _signals_held() as before:
        pid = os.fork()
        if pid == 0:
            _work(work, lambda: _in_child(prctl, before if mask is None else mask, parent, nice))
        return Fork(pid)


def _work(work: Callable[[], int], prepare: Callable[[], None]) -> NoReturn:
    """Do the work of a child, and end it."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        prepare()
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        # Nothing that this process has yet to do at its own end is done here.
        os._exit(code)


def ask_engine(argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a short command of the engine that asks nothing, and return its output."""
    return subprocess.run(
        argv, cwd=cwd, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@contextmanager
def interruptible() -> Iterator[None]:
    """Take SIGTERM and SIGHUP for an interrupt during the block. What is ignored stays so, as with nohup(1)."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with handled(interrupt):
        yield


def _watched() -> set[signal.Signals]:
    """Return the signals to read. The kernel keeps a signal that is both blocked and ignored, so an ignored one would
    be read too."""
    return {signum for signum in _WATCHED if signum not in ENDING or signal.getsignal(signum) is not signal.SIG_IGN}


def hold_signals() -> None:
    """Let nothing interrupt this process any more: a fork whose work has ended has only to say what came of it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _watched())


@contextmanager
def _signals_held() -> Iterator[set[signal.Signals | int]]:
    """Block signals until :func:`_wait` reads them; yield the mask that was set before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _watched())
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


def _wait(
    children: Sequence[subprocess.Popen[bytes] | Fork],
    asking: signal.Signals | None = None,
    after_first: Callable[[], None] | None = None,
    look: Callable[[], None] | None = None,
) -> list[EngineResult]:
    """Wait for all children; pass on signals that were sent to this process alone. ``after_first`` is called after
    the first signal, and ``look`` every now and then."""
    interrupted, watched = False, _watched()
    while running := [child for child in children if child.poll() is None]:
        info = signal.sigtimedwait(watched, LOOK_S)
        if look is not None:
            look()
        if info is None or info.si_signo == signal.SIGCHLD:
            continue
        for child in running:
            if info.si_signo == signal.SIGHUP:
                child.send_signal(asking or signal.SIGINT)
            elif info.si_code <= SI_USER:
                child.send_signal(asking or info.si_signo)
        if after_first is not None and not interrupted:
            after_first()
        interrupted = True
    return [EngineResult(code=child.returncode or 0, interrupted=interrupted) for child in children]
