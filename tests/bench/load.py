"""Load of an API server over some time, with an autoscaler and without."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.api_server import ApiServer

WINDOW_S = 60.0
"""Time over which load is measured, seconds."""
TICKS = os.sysconf("SC_CLK_TCK")
LINE = re.compile(r'^apiserver_request_total\{.*verb="(\w+)".*\} (\S+)$', re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Load:
    """Load of the API server over :data:`WINDOW_S`, and of an autoscaler's process, if there is one."""

    api_s: float
    """Processor seconds of the API server."""
    api_mib: float
    """Its memory at the end, MiB."""
    own_s: float
    own_mib: float
    requests: Counter[str]
    """Number of requests by verb. A watch counts when it ends."""

    @classmethod
    def over(cls, server: ApiServer, own: int | None = None) -> Load:
        """Measure; ``own`` is the autoscaler's process."""
        api, mine, requests = cpu_s(server.pid), cpu_s(own), _requests(server)
        time.sleep(WINDOW_S)
        return cls(
            api_s=cpu_s(server.pid) - api,
            api_mib=resident_mib(server.pid),
            own_s=cpu_s(own) - mine,
            own_mib=resident_mib(own),
            requests=_requests(server) - requests,
        )

    def beside(self, without: Load, where: str) -> Iterator[tuple[str, float]]:
        """Yield this load beside that without an autoscaler."""
        minutes = WINDOW_S / 60
        for verb in sorted({*self.requests, *without.requests}):
            yield f"{where}: {verb} requests a minute without it", without.requests[verb] / minutes
            yield f"{where}: {verb} requests a minute with it", self.requests[verb] / minutes
        yield f"{where}: API server without it, % of a core", 100 * without.api_s / WINDOW_S
        yield f"{where}: API server with it, % of a core", 100 * self.api_s / WINDOW_S
        yield f"{where}: API server's processor, with it / without it, %", 100 * self.api_s / without.api_s
        yield f"{where}: API server's memory without it, MiB", without.api_mib
        yield f"{where}: API server's memory with it, MiB", self.api_mib
        yield f"{where}: autoscaler, % of a core", 100 * self.own_s / WINDOW_S
        yield f"{where}: autoscaler's memory, MiB", self.own_mib


def _requests(server: ApiServer) -> Counter[str]:
    found: Counter[str] = Counter()
    for verb, count in LINE.findall(server.kubectl("get", "--raw", "/metrics")):
        found[verb] += int(float(count))
    return found


def cpu_s(pid: int | None) -> float:
    """Return the processor seconds of a process (proc(5), ``stat``, fields 14 and 15); 0 for none."""
    if pid is None:
        return 0.0
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mib(pid: int | None) -> float:
    """Return the resident memory of a process, MiB (proc(5), ``status``, ``VmRSS``); 0 for none."""
    if pid is None:
        return 0.0
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024
