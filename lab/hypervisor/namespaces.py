"""Named network namespaces under the lab's own ``/run``, and calls inside them.

Files hold the namespaces, as with ``ip netns``, but in the lab's mount namespace: they disappear with process 1.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lab.hypervisor.commands import command

CLONE_NEWNET = 0x40000000
RUN = Path("/run/longhaul")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Namespace:
    """A network namespace, by its file."""

    path: Path

    @classmethod
    def named(cls, name: str) -> Namespace:
        return cls(RUN / "netns" / name)

    def exists(self) -> bool:
        return is_mounted(self.path)

    async def create(self) -> None:
        """Make the namespace, without IPv6, if it does not exist."""
        if self.exists():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        await command(["unshare", f"--net={self.path}", "true"])
        await self.set_sysctl({"net/ipv6/conf/all/disable_ipv6": "1", "net/ipv6/conf/default/disable_ipv6": "1"})
        await self.ip(["link set lo up"])

    async def delete(self) -> None:
        """Unmount the namespace; the kernel removes it and its interfaces when no process uses it."""
        if self.exists():
            await command(["umount", str(self.path)])
        self.path.unlink(missing_ok=True)

    def inside(self, argv: Sequence[str]) -> list[str]:
        """Return a command that runs ``argv`` in the namespace."""
        return ["nsenter", f"--net={self.path}", *argv]

    async def ip(self, lines: Sequence[str], *, force: bool = False) -> None:
        """Run ``ip`` commands; with ``force``, continue after a failed command (for removals)."""
        if not lines:
            return
        argv = ["ip", *(["-force"] if force else []), "-batch", "-"]
        with contextlib.suppress(*([Exception] if force else [])):
            await command(self.inside(argv), stdin="\n".join(lines) + "\n")

    async def query(self, *words: str) -> str:
        """Return the JSON that ``ip -json WORDS`` prints in the namespace."""
        return await command(self.inside(["ip", "-json", *words])) or "[]"

    async def set_sysctl(self, values: dict[str, str]) -> None:
        """Set ``net/...`` values; skip values that the kernel does not have (IPv6 off)."""

        def write() -> None:
            for name, value in values.items():
                with contextlib.suppress(FileNotFoundError):
                    Path("/proc/sys", name).write_text(value)

        await self.call(write)

    async def call(self, function: Callable[[], _T]) -> _T:
        """Call ``function`` in a thread that has entered the namespace.

        The thread is new, and ends afterwards, because a pool's thread would carry the namespace into other work.
        """
        return await call_in(self.path, function)

    async def listen(self, address: str, port: int) -> socket.socket:
        """Return a listening TCP socket of the namespace."""
        return await self.call(lambda: listening(address, port))

    async def connect(self, address: str, port: int, *, source: str = "") -> socket.socket:
        """Return a connected, non-blocking TCP socket of the namespace."""
        connection = await self.call(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
        try:
            if source:
                connection.bind((source, 0))
            await asyncio.get_running_loop().sock_connect(connection, (address, port))
        except BaseException:
            connection.close()
            raise
        return connection


def listening(address: str, port: int) -> socket.socket:
    """Return a listening TCP socket of the calling thread's namespace."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return listener


def is_mounted(path: Path) -> bool:
    """Return whether something is mounted at ``path``."""
    return os.path.ismount(path)


async def call_in(path: Path, function: Callable[[], _T]) -> _T:
    """Call ``function`` in a new thread that has entered the network namespace at ``path``."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def settle(result: _T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result: _T | None = None
        failure: BaseException | None = None
        try:
            _enter(path)
            result = function()
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            failure = error
        loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=work, name=f"in {path.name}", daemon=True).start()
    return await done


def _enter(path: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(descriptor, CLONE_NEWNET) != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"setns: {os.strerror(code)}", str(path))
    finally:
        os.close(descriptor)
