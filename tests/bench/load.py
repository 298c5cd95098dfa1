"""Load of an API server over some time, with an autoscaler and without."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.bench.watched import PROC, look
from tests.support.api_server import ApiServer

WINDOW_S = 60.0
"""Time over which load is measured, seconds."""
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
        (api_s, _), (own_s, _), requests = _seen(server.pid), _seen(own), _requests(server)
        time.sleep(WINDOW_S)
        (api_then_s, api_mib), (own_then_s, own_mib) = _seen(server.pid), _seen(own)
        return cls(
            api_s=api_then_s - api_s,
            api_mib=api_mib,
            own_s=own_then_s - own_s,
            own_mib=own_mib,
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


def _seen(pid: int | None) -> tuple[float, float]:
    """Return a process's processor seconds and resident memory, MiB; nothing for none. ``ProcessLookupError`` when it
    is gone."""
    if pid is None:
        return 0.0, 0.0
    seen = look(PROC / str(pid))
    if seen is None:
        raise ProcessLookupError(f"process {pid} is gone")
    return seen.cpu_s, seen.resident / 2**20
