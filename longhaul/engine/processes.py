"""Processes of this machine, from ``/proc`` (proc(5))."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
START_FIELD = 22
"""Field of ``/proc/<pid>/stat`` with the start time, in clock ticks since boot."""


@dataclass(frozen=True, kw_only=True)
class ProcessIdentity:
    """One process. Another process may get the same number later; the start time distinguishes the two."""

    pid: int
    started: int
    """Start time in clock ticks since boot."""
    name: str


def start_ticks(pid: int) -> int | None:
    """Return a process's start time in clock ticks since boot; None when it does not exist or is only a zombie."""
    fields = _stat(pid)
    if fields is None or fields[0] in ("Z", "X"):
        return None
    return int(fields[START_FIELD - 3])


def start_time(pid: int) -> float | None:
    """Return a process's start time in seconds since 1970."""
    ticks = start_ticks(pid)
    if ticks is None:
        return None
    # Read the clock first: a pause before the second read makes a process seem older, never younger than its lock.
    now = time.time()
    uptime = float((PROC / "uptime").read_text(encoding="ascii").split()[0])
    return now - uptime + ticks / os.sysconf("SC_CLK_TCK")


def program_name(pid: int) -> str:
    """Return the file name of the program that a process runs; empty when it cannot be read."""
    try:
        return Path(os.readlink(PROC / str(pid) / "exe")).name.removesuffix(" (deleted)")
    except OSError:
        return ""


def command_name(pid: int) -> str:
    """Return a readable name for a process: the first word of its command line whose file name contains ``pulumi``,
    else its program."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    named = [Path(word).name for word in words if "pulumi" in Path(word).name]
    return named[0] if named else Path(words[0]).name


def with_variable(name: str, value: str) -> Iterator[ProcessIdentity]:
    """Yield every other process of this user that was started with ``name=value`` in its environment."""
    wanted = f"{name}={value}".encode()
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        pid = int(entry.name)
        try:
            matches = wanted in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        start = start_ticks(pid)
        if matches and start is not None:
            yield ProcessIdentity(pid=pid, started=start, name=command_name(pid))


def is_alive(process: ProcessIdentity) -> bool:
    """Return whether this process still runs; another process with the same number does not count."""
    return start_ticks(process.pid) == process.started


def terminate(processes: Iterable[ProcessIdentity], *, grace_s: float = 3.0) -> None:
    """End processes: SIGTERM first, SIGKILL after ``grace_s`` seconds. Return when they have ended, or after another
    ``grace_s`` seconds."""
    left = [process for process in processes if is_alive(process)]
    for how in (signal.SIGTERM, signal.SIGKILL):
        for process in left:
            _signal(process, how)
        left = _await_gone(left, grace_s)


def boot_id() -> str:
    """Return the identifier of this machine's current boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def namespace() -> str:
    """Return the identifier of this process's PID namespace."""
    return os.readlink(PROC / "self/ns/pid")


def hostname() -> str:
    """Return this host's name in the form that the engine writes into its locks."""
    return socket.gethostname()


def _stat(pid: int) -> list[str] | None:
    """Return the fields of ``stat`` from the third on: the second, the program's name, may contain any character."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _signal(process: ProcessIdentity, number: signal.Signals) -> None:
    """Send a signal to this process. A file descriptor pins the process, so its number cannot pass to another
    process."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        if is_alive(process):
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return
    finally:
        os.close(descriptor)


def _await_gone(processes: list[ProcessIdentity], patience_s: float) -> list[ProcessIdentity]:
    """Wait for processes that need not be our children; return those that still run after ``patience_s`` seconds."""
    import select

    deadline = time.monotonic() + patience_s
    for process in processes:
        try:
            descriptor = os.pidfd_open(process.pid)
        except OSError:
            continue
        try:
            if is_alive(process):
                select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        finally:
            os.close(descriptor)
    return [process for process in processes if is_alive(process)]
