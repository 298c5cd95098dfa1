"""The lab's cgroup directories, on hosts with version 1, version 2 or both.

The lab makes and removes only directories named ``longhaul-<env>-<hash>`` below each hierarchy's mount. The mounts and
all other groups belong to the host and stay as they are.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.state import LabError, LabState

LAB = "_lab"
"""Group of process 1, the daemon and its servers. No machine can have this name."""
OPERATOR = "_operator"
"""Group of commands run through ``enter``. The commands live in the host's PID namespace, so they do not end with
process 1."""

ENTER_SCRIPT = """while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; exec "$@" """


@dataclass(frozen=True)
class Hierarchy:
    """One mounted cgroup file system."""

    mount: Path
    unified: bool
    cpuset: bool


def hierarchies() -> tuple[Hierarchy, ...]:
    """Return every cgroup hierarchy of the host; raises :class:`LabError` when there is none."""
    mounted = parse(Path("/proc/self/mountinfo").read_text())
    if not mounted:
        raise LabError("no cgroup hierarchy is mounted under /sys/fs/cgroup: the lab needs cgroup v1 or v2")
    return mounted


def parse(mountinfo: str) -> tuple[Hierarchy, ...]:
    """Parse the hierarchies in a /proc/PID/mountinfo (fields: proc(5)), and return each hierarchy once, however often
    it is mounted."""
    mounted: dict[str, Hierarchy] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        device, mount = left.split()[2], left.split()[4]
        kind, _, options = right.split(" ", 2)
        if kind in ("cgroup", "cgroup2") and mount.startswith("/sys/fs/cgroup") and device not in mounted:
            mounted[device] = Hierarchy(Path(mount), kind == "cgroup2", "cpuset" in options.split(" ")[-1].split(","))
    return tuple(mounted.values())


@dataclass(frozen=True)
class ControlGroup:
    """A directory of one relative path in every hierarchy, for example ``longhaul-lab/etcd-0``."""

    path: str

    @classmethod
    def of(cls, state: LabState, *parts: str) -> ControlGroup:
        """Return the lab's own group, or one below it."""
        return cls("/".join((state.unique_name, *parts)))

    def directories(self) -> Iterator[Path]:
        for hierarchy in hierarchies():
            yield hierarchy.mount / self.path

    def create(self) -> None:
        """Make the directories and their parents. Idempotent."""
        for hierarchy in hierarchies():
            directory = hierarchy.mount
            for part in self.path.split("/"):
                parent, directory = directory, directory / part
                directory.mkdir(exist_ok=True)
                if hierarchy.cpuset and not hierarchy.unified:
                    _copy_cpuset(parent, directory)
            if hierarchy.unified:
                _delegate(hierarchy.mount / self.path.split("/")[0])

    def procs_files(self) -> list[str]:
        """Return the files to which a process writes ``0`` to join the group."""
        return [str(directory / "cgroup.procs") for directory in self.directories()]

    def entering(self, argv: Sequence[str]) -> list[str]:
        """Return a command that joins the group and then executes ``argv``."""
        return ["/bin/sh", "-c", ENTER_SCRIPT, "enter", *self.procs_files(), "--", *argv]

    def exists(self) -> bool:
        return any(directory.exists() for directory in self.directories())

    def existing(self) -> list[Path]:
        """Return every directory of the group and below, deepest first."""
        return [path for directory in self.directories() for path in _below(directory)]

    def members(self) -> set[int]:
        """Return the PIDs in the group and below, as the caller's PID namespace numbers them; processes outside that
        namespace are left out."""
        pids: set[int] = set()
        for directory in self.existing():
            with contextlib.suppress(FileNotFoundError, OSError):
                pids.update(int(pid) for pid in (directory / "cgroup.procs").read_text().split())
        return pids - {0}

    def kill(self, number: signal.Signals = signal.SIGKILL) -> set[int]:
        """Signal every member once; return the signalled members."""
        members = self.members() - {os.getpid()}
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return members

    def remove(self, *, timeout_s: float = 60.0) -> None:
        """Remove the directories, deepest first, once they are empty.

        The kernel takes members out of a group a moment after they end, so a busy directory is tried again until
        ``timeout_s`` is over. Raises :class:`LabError` naming the processes that still run in it.
        """
        deadline = time.monotonic() + timeout_s
        while busy := self._remove_once():
            if time.monotonic() > deadline:
                raise LabError(
                    f"cgroup {busy} is still in use by processes {sorted(self.members())}: end them and try again"
                )
            time.sleep(0.02)

    def _remove_once(self) -> Path | None:
        for directory in self.existing():
            try:
                directory.rmdir()
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
                    raise
                return directory
        return None


def _below(directory: Path) -> Iterator[Path]:
    try:
        children = [entry for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return
    for child in children:
        yield from _below(Path(child.path))
    yield directory


def _copy_cpuset(parent: Path, child: Path) -> None:
    for name in ("cpuset.cpus", "cpuset.mems"):
        if not (child / name).read_text().strip():
            (child / name).write_text((parent / name).read_text())


def _delegate(directory: Path) -> None:
    """Enable for the machines exactly the controllers that the host enables for the lab's top directory."""
    for controller in (directory / "cgroup.controllers").read_text().split():
        with contextlib.suppress(OSError):  # cpu, for example, is refused while the host has realtime threads
            (directory / "cgroup.subtree_control").write_text(f"+{controller}")
