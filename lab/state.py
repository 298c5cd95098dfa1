"""State of one lab: its files, its lock, and the record of its process 1.

Everything of an environment lies in ``<root>/<env>/`` and its logs in ``<root>/log/<env>-*``; the only other things on
the host are cgroup directories (:mod:`lab.cgroups`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PORT_VARIABLE = "LONGHAUL_LAB_PORT"
PORT_BASE = 21000
"""First of the loopback ports: below Linux's ephemeral ports (32768 up) and Kubernetes' node ports (30000 up)."""
PORT_COUNT = 8000

DEFAULT_ENV = "lab"
"""Environment of a ``make lab`` that names none, as in the Makefile."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")


class LabError(Exception):
    """An error that the user can correct; the text says what, where and how."""


def default_root() -> Path:
    """Return ``.lab`` in the project's root."""
    return Path(__file__).resolve().parent.parent / ".lab"


@dataclass(frozen=True)
class LabState:
    """The state folder of one environment."""

    root: Path
    env: str

    @classmethod
    def of(cls, env: str, *, root: Path | None = None) -> LabState:
        """Return the state of ``env``; raise :class:`LabError` for an invalid name."""
        if not _NAME.fullmatch(env) or env == "log":
            raise LabError(
                f"environment name {env!r}: write 1 to 20 lower-case letters, digits or dashes, "
                "a letter first, and not 'log'"
            )
        return cls(root=(root or default_root()).resolve(), env=env)

    @property
    def directory(self) -> Path:
        return self.root / self.env

    @property
    def unique_name(self) -> str:
        """Name that is unique on the host: two checkouts may each have a lab of the same environment."""
        return f"longhaul-{self.env}-{zlib.crc32(str(self.root).encode()):08x}"

    @property
    def logs(self) -> Path:
        return self.root / "log"

    @property
    def lock_file(self) -> Path:
        return self.root / f"{self.env}.lock"

    @property
    def init_file(self) -> Path:
        return self.directory / "lab.json"

    @property
    def config_file(self) -> Path:
        return self.directory / "config.json"

    @property
    def control_socket(self) -> Path:
        return self.directory / "control.sock"

    @property
    def operator_env(self) -> Path:
        return self.directory / "operator.env"

    @property
    def laptop_env(self) -> Path:
        return self.directory / "laptop.env"

    @property
    def resolver(self) -> Path:
        """The operator's ``resolv.conf``."""
        return self.directory / "resolv.conf"

    @property
    def laptop_resolver(self) -> Path:
        """The laptop's ``resolv.conf``."""
        return self.directory / "laptop.resolv.conf"

    @property
    def ssh_key(self) -> Path:
        """Private SSH key of the operator, for the racks' machines."""
        return self.directory / "ssh" / "id_ed25519"

    @property
    def enter(self) -> Path:
        return self.directory / "enter"

    @property
    def enter_laptop(self) -> Path:
        return self.directory / "enter-laptop"

    @property
    def enter_company(self) -> Path:
        return self.directory / "enter-company"

    @property
    def laptop(self) -> Path:
        """Files that programs keep on the laptop."""
        return self.directory / "laptop"

    @property
    def cloud(self) -> Path:
        return self.directory / "cloud"

    @property
    def network_disks(self) -> Path:
        """Folders of the clouds' network disks, by id."""
        return self.directory / "disks"

    @property
    def machines(self) -> Path:
        return self.directory / "machines"

    @property
    def daemon_log(self) -> Path:
        return self.logs / f"{self.env}-daemon.log"

    def console_log(self, machine: str) -> Path:
        return self.logs / f"{self.env}-{machine}-console.log"

    def make(self, target: str) -> str:
        """Return the command of ``make`` for this environment, as a user types it."""
        return f"make {target}" if self.env == DEFAULT_ENV else f"make {target} ENV={self.env}"

    def create(self) -> None:
        """Make the folders. Only root can read the environment's folder, because it holds keys."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        self.directory.mkdir(mode=0o700, exist_ok=True)


def write_atomically(path: Path, content: str | bytes, *, mode: int = 0o600) -> None:
    """Write ``path`` so that a reader, even after a crash, sees either the old content or the new."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the object in ``path``; None when it is absent or not an object (half-written by an older crash)."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def start_time(pid: int) -> int | None:
    """Return the start of a process in clock ticks since boot (field 22 of /proc/PID/stat); None when it is gone or a
    zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def boot_id() -> str:
    """Return the kernel's id of this boot (random(4))."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@dataclass(frozen=True, kw_only=True)
class InitRecord:
    """Process 1 of a lab as the host sees it, kept in ``lab.json``. Start time and boot id distinguish it from a
    process with a recycled PID."""

    pid: int
    started: int
    """Start in clock ticks since boot (field 22 of /proc/PID/stat)."""
    boot_id: str
    port: int
    """Loopback port of the lab on the host."""

    @classmethod
    def of(cls, pid: int, *, port: int) -> InitRecord:
        started = start_time(pid)
        if started is None:
            raise LabError(
                f"process 1 of the lab (host PID {pid}) has already ended: `make lab` starts it again, its log says why"
            )
        return cls(pid=pid, started=started, boot_id=boot_id(), port=port)

    def alive(self) -> bool:
        return self.boot_id == boot_id() and start_time(self.pid) == self.started

    def write(self, state: LabState) -> None:
        write_atomically(state.init_file, json.dumps(asdict(self)) + "\n")


def init_record(state: LabState) -> InitRecord | None:
    """Return the recorded process 1, alive or not; None when none is recorded."""
    value = read_json(state.init_file)
    try:
        return None if value is None else InitRecord(**value)
    except TypeError:
        return None


def running_init(state: LabState) -> InitRecord | None:
    """Return the recorded process 1 if it is alive."""
    record = init_record(state)
    return record if record is not None and record.alive() else None


def loopback_port(env: str, *, environment: Mapping[str, str] | None = None) -> int:
    """Return the loopback port of an environment: a stable hash of its name, or ``LONGHAUL_LAB_PORT``."""
    text = (os.environ if environment is None else environment).get(PORT_VARIABLE, "")
    if not text:
        return PORT_BASE + zlib.crc32(env.encode()) % PORT_COUNT
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise LabError(f"{PORT_VARIABLE}={text!r}: write a port from 1 to 65535")
    return int(text)


def check_port_free(port: int) -> None:
    """Raise :class:`LabError` when ``127.0.0.1:port`` is taken, naming the process that listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            holder = _listener(port) or "a process that cannot be named"
            raise LabError(
                f"port 127.0.0.1:{port} is taken by {holder} ({error.strerror}): stop it, or choose another port with "
                f"{PORT_VARIABLE}=<port>"
            ) from error


def _listener(port: int) -> str | None:
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for descriptor in (directory / "fd").iterdir():
                with contextlib.suppress(OSError):
                    if os.readlink(descriptor) in inodes:
                        return f"process {directory.name} ({(directory / 'comm').read_text().strip()})"
    return None


@contextlib.contextmanager
def lock(state: LabState) -> Iterator[None]:
    """Hold the environment's lock for one command; raise :class:`LabError`, which names the holder, when another
    command has the lock.

    The lock's file is removed afterwards. So a command that gets the lock checks that the path still names the locked
    file.
    """
    state.root.mkdir(parents=True, exist_ok=True)
    descriptor = _acquire(state)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "command": " ".join(sys.argv)}).encode(), 0)
        yield
    finally:
        state.lock_file.unlink(missing_ok=True)
        os.close(descriptor)
        with contextlib.suppress(OSError):
            state.root.rmdir()


def _acquire(state: LabState) -> int:
    while True:
        descriptor = os.open(state.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            holder = read_json(state.lock_file) or {}
            raise LabError(
                f"environment {state.env!r} is being worked on by process {holder.get('pid', '?')} "
                f"({holder.get('command', 'unknown command')}): wait for it, or end it, and try again"
            ) from error
        with contextlib.suppress(FileNotFoundError):
            if os.stat(state.lock_file).st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        os.close(descriptor)
