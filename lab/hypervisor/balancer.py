"""Health probes of load balancers, sent from the router with source 168.63.129.16, as the cloud does.

A backend is up when its probe succeeds. The first answer decides at once; afterwards the verdict changes after
``threshold`` answers in a row. An HTTP probe succeeds only with status 200, and an HTTPS probe does not check the
certificate: https://learn.microsoft.com/azure/load-balancer/load-balancer-custom-probe-overview.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import IPv4Address

from lab.desired import DesiredBalancer, DesiredProbe
from lab.hypervisor.addresses import PLATFORM
from lab.hypervisor.namespaces import RUN
from lab.hypervisor.networks import router_of
from lab.state import read_json, write_atomically

_LOG = logging.getLogger(__name__)


@dataclass
class BackendVerdict:
    """Verdict about one backend."""

    up: bool = False
    known: bool = False
    streak: int = 0
    """Number of answers in a row against the verdict."""
    announced: bool = False
    """True when the router's rules include the backend."""

    def hear(self, success: bool, threshold: int) -> bool:
        """Record one answer; return whether the verdict changed."""
        if not self.known:
            self.known = True
            self.up, changed = success, success
            return changed
        self.streak = self.streak + 1 if success != self.up else 0
        if self.streak < threshold:
            return False
        self.up, self.streak = success, 0
        return True


class Balancers:
    """Probes every backend of the given load balancers, and reports changed verdicts."""

    def __init__(self, *, changed: Callable[[str], Awaitable[None]]) -> None:
        self._changed = changed
        self._balancers: dict[str, DesiredBalancer] = {}
        self._tasks: dict[tuple[str, IPv4Address], asyncio.Task[None]] = {}
        self._verdicts: dict[tuple[str, IPv4Address], BackendVerdict] = {}
        self._file = RUN / "verdicts.json"
        self._before = read_json(self._file) or {}
        """Verdicts of the previous daemon, so that a restart of the daemon interrupts no client."""

    def follow(self, balancers: tuple[DesiredBalancer, ...]) -> None:
        """Probe exactly these load balancers. If a load balancer's probe or network changed, its verdicts start
        afresh."""
        wanted = {balancer.id: balancer for balancer in balancers}
        for key in [key for key in self._tasks if self._gone(key, wanted)]:
            self._tasks.pop(key).cancel()
            self._verdicts.pop(key, None)
        self._balancers = wanted
        for balancer in balancers:
            for backend in balancer.backends:
                key = (balancer.id, backend)
                if key not in self._tasks:
                    up = bool(self._before.get(f"{balancer.id} {backend}"))
                    self._verdicts[key] = BackendVerdict(up=up, known=up, announced=up)
                    self._tasks[key] = asyncio.create_task(self._probe(balancer, backend))

    def _gone(self, key: tuple[str, IPv4Address], wanted: dict[str, DesiredBalancer]) -> bool:
        old, new = self._balancers[key[0]], wanted.get(key[0])
        return new is None or key[1] not in new.backends or (old.probe, old.network) != (new.probe, new.network)

    def healthy(self, balancer_id: str) -> tuple[IPv4Address, ...]:
        """Return the backends that take new flows."""
        return tuple(key[1] for key, verdict in self._verdicts.items() if key[0] == balancer_id and verdict.up)

    def verdicts(self) -> dict[str, dict[str, bool]]:
        """Return, by load balancer and backend, whether the router's rules include the backend, so that it gets
        flows."""
        shown: dict[str, dict[str, bool]] = {balancer: {} for balancer in self._balancers}
        for (balancer, backend), verdict in self._verdicts.items():
            shown[balancer][str(backend)] = verdict.announced
        return shown

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _probe(self, balancer: DesiredBalancer, backend: IPv4Address) -> None:
        verdict = self._verdicts[(balancer.id, backend)]
        while True:
            success = await probe(balancer.network, backend, balancer.probe)
            if verdict.hear(success, balancer.probe.threshold):
                _LOG.info("load balancer %s: %s is %s", balancer.id, backend, "up" if verdict.up else "down")
                self._remember()
                try:
                    await self._changed(balancer.network)
                except Exception:  # noqa: BLE001 - probing goes on; the next change renders the rules again
                    _LOG.exception("rules of network %s", balancer.network)
                verdict.announced = verdict.up
            await asyncio.sleep(balancer.probe.interval_s)

    def _remember(self) -> None:
        flat = {f"{key[0]} {key[1]}": verdict.up for key, verdict in self._verdicts.items()}
        write_atomically(self._file, json.dumps(flat))


async def probe(network_id: str, backend: IPv4Address, probe: DesiredProbe) -> bool:
    """Probe once; return whether the backend answered in time: within the interval, but at least 1 s."""
    try:
        async with asyncio.timeout(max(probe.interval_s, 1.0)):
            connection = await router_of(network_id).connect(str(backend), probe.port, source=str(PLATFORM))
            if probe.protocol == "tcp":
                connection.close()
                return True
            context = probe_context() if probe.protocol == "https" else None
            name = str(backend) if context else None
            reader, writer = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=name)
            try:
                writer.write(
                    f"GET {probe.path} HTTP/1.1\r\nHost: {backend}:{probe.port}\r\nConnection: close\r\n\r\n".encode()
                )
                status = (await reader.readline()).split()
                return len(status) >= 2 and status[1] == b"200"
            finally:
                writer.close()
                with contextlib.suppress(OSError, ssl.SSLError):
                    await writer.wait_closed()
    except (OSError, TimeoutError, ValueError):
        return False


def probe_context() -> ssl.SSLContext:
    """Return the TLS settings of an HTTPS probe: any certificate, and at most TLS 1.2
    (https://github.com/MicrosoftDocs/azure-docs/issues/107193)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context
