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

from longhaul.client.signals import ENDING, handling_signals

SI_USER = 0
"""``si_code`` of a signal sent by a process; the terminal's own are ``SI_KERNEL`` (sigaction(2))."""
PR_SET_PDEATHSIG = 1
"""Option of prctl(2): the signal that a child gets when its parent dies."""

LOOK_S = 0.2
"""Seconds between two looks at the children."""

_WATCHED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
"""Signals to read. SIGTERM and SIGHUP stay ignored where they already are (:func:`handling_signals`). SIGINT is always
read: processes of this program use it to ask each other to end."""


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

    The engine stays in this process group, so it can ask questions and gets the terminal's Ctrl-C itself. At the first
    Ctrl-C it finishes what is under way, at the second it stops. Signals that were sent to this process alone are
    passed on, each once. ``started`` is called with the engine's process number, ``interrupted`` after the first
    signal, and ``look`` every :data:`LOOK_S` seconds while the engine runs. ``asking`` is sent instead of any of these
    signals, for a program that accepts no other request to end.
    """
    with _signals_held() as before:
        child = start(argv, cwd=cwd, environ=environ, mask=before, stdout=stdout, stderr=stderr)
        if started is not None:
            started(child.pid)
        return _wait([child], asking, interrupted, look)[0]


class Fork:
    """A forked child of this process. It can be waited for like a ``Popen``."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code; None while the child runs."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int | None:
        """Wait for the child's end, and return its exit code."""
        return self._wait(0)

    def send_signal(self, number: int) -> None:
        """Send a signal to the child, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _wait(self, how: int) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, how)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode


def run_together(works: Sequence[Callable[[], int]]) -> list[EngineResult]:
    """Run several functions side by side, each in a fork of this process, and wait for all of them. None may ask
    questions. Each returns its exit code. Signals are handled as in :func:`run_engine`."""
    with _signals_held() as before:
        return _wait([fork(work, mask=before) for work in works])


def fork(work: Callable[[], int], *, mask: set[signal.Signals | int] | None = None, nice: int = 0) -> Fork:
    """Run a function in a fork of this process, with a copy of its memory and an empty standard input. The fork gets
    SIGINT when this process dies. For ``mask`` and ``nice`` see :func:`start`."""
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    # A signal between the fork and the child's `try` would make the child continue as this process.
    with _signals_held() as before:
        pid = os.fork()
        if pid == 0:
            _work(work, lambda: _in_child(prctl, before if mask is None else mask, parent, nice))
        return Fork(pid)


def _work(work: Callable[[], int], prepare: Callable[[], None]) -> NoReturn:
    """Run a child's function, and exit."""
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        prepare()
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        # The child must not run this process's exit handlers.
        os._exit(code)


def ask_engine(argv: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a short command of the engine that asks no questions, and return its output."""
    return subprocess.run(
        argv, cwd=cwd, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an interrupt during the block. Ignored signals stay ignored, as with nohup(1)."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with handling_signals(interrupt):
        yield


def _watched() -> set[signal.Signals]:
    """Return the signals to read. Ignored signals are left out: the kernel keeps a signal that is both blocked and
    ignored, so it would be read too."""
    return {signum for signum in _WATCHED if signum not in ENDING or signal.getsignal(signum) is not signal.SIG_IGN}


def hold_signals() -> None:
    """Block all interrupts of this process from now on: a fork that has finished only reports its result."""
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
    """Start a child that gets SIGINT when this command dies. ``mask`` is its set of blocked signals, ``nice`` is added
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
    """Restore the signal mask, set the niceness, and arrange a SIGINT for when this command dies.

    A hang-up reaches the whole group, and the engine has no handler for it. So the child ignores it, and :func:`_wait`
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
    """Wait for all children; pass on signals that were sent to this process alone. ``after_first`` is called after the
    first signal, and ``look`` every :data:`LOOK_S` seconds."""
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
