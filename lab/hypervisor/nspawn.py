"""Machines as processes: starts systemd-nspawn, finds it again, and reaches inside.

A machine is a child of process 1, not of the daemon, so it outlives the daemon. The daemon finds a machine by the
``--machine=`` argument of its systemd-nspawn, in the daemon's PID namespace. A machine's leader is process 1 of its PID
namespace.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.cgroups import ControlGroup
from lab.hypervisor.commands import command
from lab.state import start_time

REBOOT = 133
"""Exit code of ``systemd-nspawn --keep-unit`` when the machine asked for a reboot (EXIT_FORCE_RESTART)."""

WITHOUT = ("CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_TIME")
"""Capabilities that no program of a machine needs, and that act on the host alone: its modules, ports and clock.
docs/lab.md says what the others leave to root on a machine."""

# The outer shell stays, to write down the machine's exit code; only the inner shell joins the machine's group.
_LAUNCH = """exec < /dev/null > /dev/null 2>&1
log=$1; exit_file=$2; shift 2
rm -f "$exit_file"
(
  while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift
  exec "$@"
) >> "$log" 2>&1
echo $? > "$exit_file.new"; mv "$exit_file.new" "$exit_file"
"""

_NSENTER = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd"]
CLEAN_ENVIRONMENT = [
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/root",
    "LANG=C.UTF-8",
]


@dataclass
class ContainerProcess:
    """A running systemd-nspawn."""

    machine: str
    pid: int
    started: int
    _leader: int | None = None

    def alive(self) -> bool:
        """Return whether the process still runs."""
        return start_time(self.pid) == self.started

    def leader(self) -> int | None:
        """Return the PID (in the daemon's namespace) of the machine's process 1; None until that process exists."""
        if self._leader is None:
            inner = (child for child in _children(self.pid) if len(ids := _depths(child)) == 2 and ids[-1] == 1)
            self._leader = next(inner, None)
        return self._leader

    def kill(self) -> None:
        """Cut the power: every process of the machine ends at once."""
        for pid in (self.leader(), self.pid):
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def shut_down(self) -> None:
        """Ask for an orderly power-off (systemd-nspawn passes SIGTERM on as SIGRTMIN+3)."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)

    async def ended(self) -> None:
        """Wait for the end."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, done.set)
        try:
            await done.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)


def launch_argv(*, name: str, root: Path, netns: Path, binds: Sequence[tuple[Path, str]]) -> list[str]:
    """Return the systemd-nspawn command line of one machine."""
    return [*_common(name=name, root=root, netns=netns), "--boot", *(f"--bind={near}:{far}" for near, far in binds)]


def container_argv(*, name: str, root: Path, netns: Path, command: Sequence[str]) -> list[str]:
    """Return the systemd-nspawn command line of one program with its own file system and processes."""
    return [*_common(name=name, root=root, netns=netns), "--as-pid2", "--", *command]


def _common(*, name: str, root: Path, netns: Path) -> list[str]:
    return [
        "systemd-nspawn",
        "--quiet",
        "--settings=no",
        f"--directory={root}",
        f"--machine={name}",
        f"--hostname={name}",
        f"--network-namespace-path={netns}",
        "--register=no",
        "--keep-unit",
        "--console=pipe",
        # By default the machine's journal and resolver would be linked with the host's.
        "--link-journal=no",
        "--resolv-conf=off",
        "--timezone=off",
        "--capability=all",
        f"--drop-capability={','.join(WITHOUT)}",
        "--system-call-filter=@keyring bpf",
    ]


async def launch(
    argv: Sequence[str], *, name: str, group: ControlGroup, log: Path, exit_file: Path
) -> ContainerProcess:
    """Start a machine as a child of process 1; return its process once its systemd-nspawn is seen."""
    words = ["launch", str(log), str(exit_file), *group.procs_files(), "--", *argv]
    await command(["setsid", "--fork", "/bin/sh", "-c", _LAUNCH, *words])
    while (process := running().get(name)) is None:
        if (code := _exit_code(exit_file)) is not None:
            raise RuntimeError(f"systemd-nspawn ended at once with exit code {code}; see {log}")
        await asyncio.sleep(0.02)
    return process


def _exit_code(file: Path) -> str | None:
    return file.read_text().strip() if file.exists() else None


def running() -> dict[str, ContainerProcess]:
    """Return all running machines by name."""
    namespace = os.readlink("/proc/self/ns/pid")
    names: dict[int, str] = {}
    for pid in _numbers():
        with contextlib.suppress(OSError, StopIteration):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if words[0].endswith(b"systemd-nspawn") and os.readlink(f"/proc/{pid}/ns/pid") == namespace:
                names[pid] = next(word for word in words if word.startswith(b"--machine="))[10:].decode()
    # While a machine is set up, a second process has the same command line: a child of the wanted one.
    parents = {pid: _status(pid).get("PPid", "") for pid in names}
    leaders = {}
    for pid, name in names.items():
        started = start_time(pid)
        if started is not None and not (parents[pid].isdigit() and int(parents[pid]) in names):
            leaders[name] = ContainerProcess(name, pid, started)
    return leaders


def _numbers() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def _status(pid: int) -> dict[str, str]:
    """Return the fields of /proc/PID/status; empty when the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        return [int(child) for child in listed.read_text().split()]
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN, or a process that is gone
        return [child for child in _numbers() if _status(child).get("PPid") == str(pid)]
    except OSError:
        return []


def _depths(pid: int) -> list[int]:
    """Return the process's PID in each PID namespace, the host's first; empty when the process is gone."""
    return [int(number) for number in _status(pid).get("NSpid", "").split()]


def leader_among(pids: Collection[int]) -> int | None:
    """Return the process 1 of a machine among the processes of its cgroup; None when there is none. Its PID namespace
    is two levels below the host's."""
    return next((pid for pid in pids if len(ids := _depths(pid)) == 3 and ids[-1] == 1), None)


def inside(leader: int, argv: Sequence[str], *, environment: Sequence[str] = ()) -> list[str]:
    """Return a command that runs ``argv`` as root in the machine of ``leader``, with a clean environment."""
    return ["nsenter", f"--target={leader}", *_NSENTER, "--", "env", "-i", *CLEAN_ENVIRONMENT, *environment, *argv]


def read_inside(leader: int, path: str, *, limit: int = 1 << 20) -> bytes | None:
    """Return the content of a small regular file of a machine; None when the file is absent or of another kind (a
    hostile machine may put a link or a pipe there)."""
    try:
        descriptor = os.open(f"/proc/{leader}/root{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if os.path.isfile(f"/proc/self/fd/{file.fileno()}"):
            return file.read(limit)
    return None
