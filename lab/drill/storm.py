"""Storm of Events: ``python -m lab.drill.storm --kubeconfig FILE --rate N``, run as the lab's operator.

It requests the creation of N Events a second, as many service accounts of its own namespaces, over many connections
with several requests in flight on each. The API servers would limit a single user or namespace
(:mod:`components.render.admission`), so the program uses as many as a storm of a whole cluster has. It prints ``ready``
once some Events exist. When its input ends, it prints the results as JSON, and ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import ssl
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from contract.kubernetes import paths
from contract.kubernetes.api import Api, path_of

CONNECTIONS = 64
IN_FLIGHT = 16
"""Largest number of unanswered requests on one connection (RFC 9112, section 9.3.2, pipelining)."""
TICK_S = 0.02
LAST_ANSWER_S = 10.0
"""Seconds after the end of the storm until which answers may arrive."""
READY = 100
"""Number of Events after which the storm counts as running."""
USER = "storm"
NAMESPACES, USERS = 8, 128


@dataclass
class Storm:
    """Events in namespaces."""

    api: Api
    rate: float
    ready: Callable[[], object]
    """Called when :data:`READY` Events exist."""
    name: str = field(default_factory=lambda: f"longhaul-drill-storm-{secrets.token_hex(4)}")
    answers: Counter[int] = field(default_factory=Counter)
    """Number of answers by status."""
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _asked: int = 0

    @property
    def namespaces(self) -> list[str]:
        """Names of the namespaces."""
        return [f"{self.name}-{index}" for index in range(NAMESPACES)]

    def make(self) -> None:
        """Make the namespaces, and let service accounts create Events there."""
        for name in self.namespaces:
            self._make(name)

    def _make(self, name: str) -> None:
        roles = path_of("apis", "rbac.authorization.k8s.io", "v1", "namespaces", name)
        self.api.post(paths.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        rules = [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}]
        self.api.post(f"{roles}/roles", {"metadata": {"name": USER}, "rules": rules})
        binding = {
            "metadata": {"name": USER},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": USER},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:serviceaccounts"}],
        }
        self.api.post(f"{roles}/rolebindings", binding)

    def remove(self) -> None:
        """Delete the namespaces; the cluster empties them later."""
        for name in self.namespaces:
            path = path_of("api", "v1", "namespaces", name)
            if (live := self.api.find(path)) is not None:
                self.api.delete(path, uid=live["metadata"]["uid"])

    async def blow(self, until: Callable[[], object]) -> float:
        """Create Events until ``until`` returns; return the duration in seconds. ``until`` runs in a thread."""
        began = time.monotonic()
        loads = [asyncio.create_task(self._load(began)) for _ in range(CONNECTIONS)]
        await asyncio.to_thread(until)
        self._over.set()
        lasted = time.monotonic() - began
        _, silent = await asyncio.wait(loads, timeout=LAST_ANSWER_S)
        for load in silent:
            load.cancel()
        await asyncio.gather(*loads, return_exceptions=True)
        return lasted

    async def _load(self, began: float) -> None:
        """Keep one connection busy; open a new connection when it breaks."""
        access = self.api.access
        while not self._over.is_set():
            with suppress(OSError, asyncio.IncompleteReadError, ValueError):
                reader, writer = await asyncio.open_connection(
                    access.host, access.port, ssl=access.context, server_hostname=access.server_name
                )
                try:
                    await self._talk(reader, writer, began)
                finally:
                    writer.close()
                    with suppress(OSError, ssl.SSLError):
                        await writer.wait_closed()
            await asyncio.sleep(TICK_S)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, began: float) -> None:
        waiting = 0
        while not self._over.is_set():
            due = int((time.monotonic() - began) * self.rate) - self._asked
            more = max(0, min(due, IN_FLIGHT - waiting))
            self._asked += more
            writer.write(b"".join(self._request(number) for number in range(self._asked - more, self._asked)))
            await writer.drain()
            waiting += more
            if not waiting:
                await asyncio.sleep(TICK_S)
                continue
            self._count(await _status(reader))
            waiting -= 1

    def _count(self, status: int) -> None:
        self.answers[status] += 1
        if self.answers[201] == READY and status == 201:
            self.ready()

    def _request(self, number: int) -> bytes:
        namespace = self.namespaces[number % NAMESPACES]
        event = {
            "metadata": {"name": f"storm-{number}"},
            "involvedObject": {"kind": "Pod", "namespace": namespace, "name": f"pod-{number % 1000}"},
            "reason": "Storm",
            "message": "Back-off restarting failed container in a pod of a job that a thousand others wait for",
            "type": "Warning",
            "source": {"component": "longhaul-drill"},
            "count": 1,
        }
        body = json.dumps(event).encode()
        head = (
            f"POST /api/v1/namespaces/{namespace}/events HTTP/1.1\r\n"
            f"Host: {self.api.access.host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"Impersonate-User: system:serviceaccount:{namespace}:{USER}-{number % USERS}\r\n"
            "Impersonate-Group: system:serviceaccounts\r\nImpersonate-Group: system:authenticated\r\n\r\n"
        )
        return head.encode() + body


async def _status(reader: asyncio.StreamReader) -> int:
    """Read one answer and return its status. Raise ``ValueError`` when it cannot be read."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if "chunked" in fields.get("transfer-encoding", ""):
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
    else:
        await reader.readexactly(int(fields.get("content-length", "0")))
    return int(lines[0].split()[1])


def main(argv: list[str] | None = None) -> int:
    """Run the program; return 0 when the storm ran."""
    parser = argparse.ArgumentParser(prog="python -m lab.drill.storm", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--rate", type=float, required=True, help="Events a second")
    options = parser.parse_args(argv)
    kubeconfig: dict[str, Any] = yaml.safe_load(options.kubeconfig.read_text(encoding="utf-8"))
    storm = Storm(Api.of(kubeconfig), options.rate, ready=partial(print, "ready", flush=True))
    storm.make()
    try:
        lasted = asyncio.run(storm.blow(sys.stdin.read))
    finally:
        storm.remove()
    made = storm.answers[201]
    report = {"made": made, "rate": made / lasted, "answers": {str(key): n for key, n in storm.answers.items()}}
    sys.stdout.write(json.dumps(report) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
