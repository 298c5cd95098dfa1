"""Brings a lab down, from whatever state it is in, and checks that nothing is left.

The end of process 1 ends all processes inside the lab. This module removes the rest: the commands run through ``enter``
(which live in the host's PID namespace, in the cgroup ``_operator``), the cgroup directories and the files.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import signal
import stat
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lab.cgroups import OPERATOR, ControlGroup
from lab.state import InitRecord, LabError, LabState, init_record, lock
from lab.tenant_leave import leave
from lab.tenants import tenants_of

_ORDERLY_S = 10.0
"""Seconds that process 1 gets after SIGTERM; its daemon gets half of them."""
_KILLED_S = 30.0
"""Seconds that the kernel may take to end everything after SIGKILL."""
_OPERATOR_S = 3.0
_FS_IOC_GETFLAGS, _FS_IOC_SETFLAGS = 0x80086601, 0x40086602
_FIXED = 0x10 | 0x20
"""Flags of immutable and append-only files (ioctl_iflags(2)): root in a machine can set them."""


def down(state: LabState, *, logs: bool = False, say: Callable[[str], None] = print) -> None:
    """End the lab and remove its state; with ``logs`` its logs too. Idempotent. The lab's tenants end with the lab. A
    tenant itself leaves the lab that it is in, and that lab continues.

    Raises :class:`LabError`, which names the remedy, when something cannot be removed; a second run continues from
    there.
    """
    beside = tenants_of(state)
    for lab_state in (state, *beside):
        _end_operators(lab_state)
    leave(state)
    record = init_record(state)
    if record is not None and record.alive():
        say(f"ending the lab of environment {state.env} (process {record.pid})")
        _end(record)
    for tenant in beside:
        with lock(tenant):
            _clear(tenant, logs=logs)
        say(f"environment {tenant.env}, which was in it, is gone")
    _clear(state, logs=logs)
    say(f"environment {state.env} is gone")
    for other in sorted(state.root.glob("*/lab.json")) if state.root.exists() else ():
        there = LabState(root=state.root, env=other.parent.name)
        say(f"environment {there.env} is still there; to remove it: {there.make('lab-down')}")


def _clear(state: LabState, *, logs: bool) -> None:
    """Remove the remains of an environment after its process 1 has ended, or after it has left another environment's
    lab."""
    _end_group(state)
    _remove_state(state)
    if logs:
        _remove_logs(state)
    for folder in (state.logs, state.root):
        with contextlib.suppress(OSError):
            folder.rmdir()
    if left := leftovers(state, logs=logs):
        raise LabError(f"the lab of environment {state.env} has left something behind:\n  " + "\n  ".join(left))


def _end_operators(state: LabState) -> None:
    group = ControlGroup.of(state, OPERATOR)
    deadline = time.monotonic() + _OPERATOR_S
    asked: set[int] = set()
    while members := group.members() - {os.getpid()}:
        if time.monotonic() > deadline:
            group.kill(signal.SIGKILL)
        elif members - asked:
            asked |= group.kill(signal.SIGTERM)
        time.sleep(0.02)


def _end(record: InitRecord) -> None:
    try:
        descriptor = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return
    try:
        if not record.alive():
            return
        for number, patience in ((signal.SIGTERM, _ORDERLY_S), (signal.SIGKILL, _KILLED_S)):
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, number)
            if select.select([descriptor], [], [], patience)[0]:
                return
    finally:
        os.close(descriptor)
    raise LabError(
        f"process {record.pid} of the lab did not end within {_KILLED_S:g} s of SIGKILL: something in the kernel holds "
        "one of its processes; try again, or reboot"
    )


def _end_group(state: LabState) -> None:
    """Kill everything in the lab's cgroups (a lab without a record ends this way), and remove them."""
    group = ControlGroup.of(state)
    deadline = time.monotonic() + _KILLED_S
    while group.members():
        group.kill(signal.SIGKILL)
        if time.monotonic() > deadline:
            raise LabError(
                f"processes {sorted(group.members())} of the lab of {state.env} do not end: try again, or reboot"
            )
        time.sleep(0.02)
    group.remove()


def _remove_state(state: LabState) -> None:
    directory = state.directory
    if directory.is_symlink() or not directory.exists():
        directory.unlink(missing_ok=True)
        return
    if mounted := [mount for mount in _mounts() if Path(mount).is_relative_to(directory)]:
        raise LabError(
            f"{', '.join(mounted)} is still mounted below {directory}: unmount it (umount), and run this again"
        )
    _remove_tree(directory)


def _remove_tree(path: Path) -> None:
    """Remove a folder of machines' disks, without following links or entering other file systems."""
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _remove_entry(parent, path.name, os.stat(path.name, dir_fd=parent, follow_symlinks=False).st_dev)
    finally:
        os.close(parent)


def _remove_entry(parent: int, name: str, device: int) -> None:
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if status.st_dev != device:
        raise LabError(
            f"{name!r} in {os.readlink(f'/proc/self/fd/{parent}')} is on another file system: unmount it first"
        )
    if stat.S_ISDIR(status.st_mode):
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            _loosen(folder)
            for entry in os.listdir(folder):
                _remove_entry(folder, entry, device)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=parent)
        return
    try:
        os.unlink(name, dir_fd=parent)
    except PermissionError:
        if not stat.S_ISREG(status.st_mode):
            raise
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=parent)
        try:
            _loosen(file)
        finally:
            os.close(file)
        os.unlink(name, dir_fd=parent)


def _loosen(descriptor: int) -> None:
    """Remove the flags that keep a file from being removed."""
    try:
        flags = struct.unpack("l", fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, struct.pack("l", 0)))[0]
        if flags & _FIXED:
            fcntl.ioctl(descriptor, _FS_IOC_SETFLAGS, struct.pack("l", flags & ~_FIXED))
    except OSError as error:
        if error.errno not in (errno.ENOTTY, errno.EOPNOTSUPP):
            raise


def _log_files(state: LabState) -> Iterator[Path]:
    """Yield the logs of this environment, without the logs of environments whose names begin with this one's name."""
    others = (
        {entry.name for entry in state.root.iterdir() if entry.is_dir()} - {state.env, "log"}
        if state.root.exists()
        else set()
    )
    for path in sorted(state.logs.glob(f"{state.env}-*")):
        if not any(other.startswith(f"{state.env}-") and path.name.startswith(f"{other}-") for other in others):
            yield path


def _remove_logs(state: LabState) -> None:
    """Remove the lab's logs; with the last lab also those of the tools and of the image."""
    for path in _log_files(state):
        path.unlink()
    others = [path for path in state.root.glob("*") if path != state.logs and (path.is_dir() or path.suffix == ".json")]
    if not others:
        for path in (*state.logs.glob("*.log"), state.root / "bootstrap.lock"):
            path.unlink(missing_ok=True)


def _mounts() -> list[str]:
    text = Path("/proc/self/mountinfo").read_text()
    return [line.split()[4].replace("\\040", " ") for line in text.splitlines()]


def leftovers(state: LabState, *, logs: bool = True) -> list[str]:
    """Return the remains of a lab, one line each: processes, mounts in any namespace, cgroups, files; empty for
    none."""
    group = ControlGroup.of(state)
    remains = [f"process {pid} ({_words(pid)}) in a cgroup of the lab" for pid in sorted(group.members())]
    remains += _processes_below(state, group.members())
    remains += _mounts_anywhere(state)
    remains += [f"cgroup {path}" for path in group.existing()]
    remains += [f"folder {state.directory}"] if state.directory.exists() else []
    remains += [f"log {path}" for path in _log_files(state)] if logs else []
    return remains


def _processes_below(state: LabState, known: set[int]) -> Iterator[str]:
    argument = f"\0--env\0{state.env}\0--state-root\0{state.root}\0".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        with contextlib.suppress(OSError):
            root = os.readlink(entry / "root")
            is_lab = argument in (entry / "cmdline").read_bytes() or Path(root).is_relative_to(state.directory)
            if is_lab and pid not in known and pid != os.getpid():
                yield f"process {pid} ({_words(pid)})"


def _words(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:120]
    return "ended"


def _mounts_anywhere(state: LabState) -> Iterator[str]:
    """Yield the mounts that mention the state folder, in every mount namespace in which a process lives."""
    mounts: set[str] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            namespace = os.readlink(entry / "ns" / "mnt")
            if namespace in mounts:
                continue
            text = (entry / "mountinfo").read_text()
            mounts.add(namespace)
            for line in text.splitlines():
                if f"{state.directory}/" in line:
                    yield f"mount {line.split()[4]} in the namespace of process {entry.name}"
