"""Processes of this machine, by what ``/proc`` says of them (proc(5))."""

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
class Process:
    """One process; a number alone may be another program's by now, the start time tells."""

    pid: int
    started: int
    """Clock ticks since boot."""
    name: str


def started(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None when there is none, or only a zombie."""
    fields = _stat(pid)
    if fields is None or fields[0] in ("Z", "X"):
        return None
    return int(fields[START_FIELD - 3])


def started_at(pid: int) -> float | None:
    """Start time of a process as seconds since 1970."""
    ticks = started(pid)
    if ticks is None:
        return None
    # The clock first: a pause before the second look makes a process older than it is, never younger than its lock.
    now = time.time()
    uptime = float((PROC / "uptime").read_text(encoding="ascii").split()[0])
    return now - uptime + ticks / os.sysconf("SC_CLK_TCK")


def program(pid: int) -> str:
    """File name of the program that a process runs; empty when it cannot be seen."""
    try:
        return Path(os.readlink(PROC / str(pid) / "exe")).name.removesuffix(" (deleted)")
    except OSError:
        return ""


def command_name(pid: int) -> str:
    """What a person would call the process: its script for an interpreter, else its program."""
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    named = [Path(word).name for word in words if "pulumi" in Path(word).name]
    return named[0] if named else Path(words[0]).name


def with_variable(name: str, value: str) -> Iterator[Process]:
    """Every other process of this user whose environment holds ``name=value`` since its start."""
    wanted = f"{name}={value}".encode()
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        pid = int(entry.name)
        try:
            found = wanted in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        start = started(pid)
        if found and start is not None:
            yield Process(pid=pid, started=start, name=command_name(pid))


def is_alive(process: Process) -> bool:
    """Whether that very process still runs."""
    return started(process.pid) == process.started


def end(processes: Iterable[Process], *, grace_s: float = 3.0) -> None:
    """End processes by number: asked first, made to after ``grace_s`` seconds. Returns when all are gone."""
    left = [process for process in processes if is_alive(process)]
    for how in (signal.SIGTERM, signal.SIGKILL):
        for process in left:
            _signal(process, how)
        left = _await_gone(left, grace_s)


def boot_id() -> str:
    """Identity of this boot of this machine."""
    return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def namespace() -> str:
    """Identity of the PID namespace that process numbers here belong to."""
    return os.readlink(PROC / "self/ns/pid")


def hostname() -> str:
    """This host's name, as the engine records it in its locks."""
    return socket.gethostname()


def _stat(pid: int) -> list[str] | None:
    """Fields of ``stat`` from the third on: the second, the name, may hold anything."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _signal(process: Process, number: signal.Signals) -> None:
    """Send a signal to that very process: the descriptor pins it, so its number cannot become another's meanwhile."""
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


def _await_gone(processes: list[Process], patience_s: float) -> list[Process]:
    """Wait for processes that need not be our children; those that still run after ``patience_s``."""
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
