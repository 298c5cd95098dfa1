"""Name servers: a dnsmasq in the internet for public names, and one in each router (168.63.129.16) and at each operator
for public names and private zones.

The servers have no upstream, so a name that they do not know does not exist. A server outlives the daemon; the next
daemon finds it by its PID file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from lab.hypervisor import addresses
from lab.hypervisor.commands import command
from lab.hypervisor.namespaces import RUN, Namespace


@dataclass(frozen=True)
class NameServer:
    """One dnsmasq, which listens on ``address`` in ``namespace``."""

    namespace: Namespace
    address: IPv4Address

    @property
    def _directory(self) -> Path:
        return RUN / "dns" / self.namespace.path.name

    @property
    def _pid_file(self) -> Path:
        return self._directory / "pid"

    async def serve(self, names: Mapping[str, IPv4Address]) -> None:
        """Serve ``names`` and the public names; return once the server listens."""
        self._directory.mkdir(parents=True, exist_ok=True)
        hosts = "".join(f"{address} {name.rstrip('.')}\n" for name, address in sorted(names.items()))
        changed = self._write("hosts", hosts)
        reconfigured = self._write("conf", self._configuration())
        pid = self._pid()
        if pid is not None and reconfigured:
            await self.stop()
            pid = None
        if pid is None:
            await command(self.namespace.inside(["dnsmasq", f"--conf-file={self._directory / 'conf'}"]))
        elif changed:
            os.kill(pid, signal.SIGHUP)

    async def stop(self) -> None:
        """End the server, if there is one."""
        pid = self._pid()
        if pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        while self._pid() is not None:  # noqa: ASYNC110 - the end of a process that is not our child
            await asyncio.sleep(0.02)

    def _configuration(self) -> str:
        lines = ["no-hosts", "no-resolv", "no-poll", "bind-interfaces", "no-ping", "cache-size=0", "user=root"]
        lines += [
            f"listen-address={self.address}",
            f"pid-file={self._pid_file}",
            f"addn-hosts={self._directory / 'hosts'}",
        ]
        for name, address in addresses.PUBLIC_NAMES.items():
            # The second line makes an IPv6 query for the name answer "no such record" instead of "no such name".
            lines += [f"address=/{name}/{address}", f"local=/{name}/"]
        return "\n".join([*lines, "local=/#/"]) + "\n"

    def _write(self, name: str, content: str) -> bool:
        path = self._directory / name
        if path.exists() and path.read_text() == content:
            return False
        path.write_text(content)
        return True

    def _pid(self) -> int | None:
        with contextlib.suppress(OSError, ValueError):
            pid = int(self._pid_file.read_text())
            if f"--conf-file={self._directory / 'conf'}".encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        return None
