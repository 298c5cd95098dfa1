"""Let kube-apiserver start while no member of the events etcd cluster answers.

kube-apiserver ends if an etcd cluster offers no HTTP/2 connection within 20 s of kube-apiserver's start (kubernetes
1.36, apiserver/pkg/storage/storagebackend/factory/etcd3.go, ``grpc.WithBlock``). So a kube-apiserver that starts while
the events etcd does not answer gets this relay as the events etcd's address (kube_apiserver/etcd_endpoints.py). The
relay passes each connection on to a member. While no member answers, the relay greets like an HTTP/2 server, but
answers no request. As soon as a member answers, the relay ends the connection. kube-apiserver then connects again, and
the relay passes the new connection on to the member. The relay stores no events.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import ssl
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from machine.config import PKI

from contract.documents.node import NodeConfig
from contract.ports import ETCD_CLIENT_PORT

PORT = 2391
"""Port of the relay on loopback. etcd's client connects without TLS only to ``http`` addresses."""

URL = f"http://127.0.0.1:{PORT}"

GREETING = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""Empty SETTINGS frame, with which an HTTP/2 server begins (RFC 9113, 3.4)."""

CONNECT_S = 2.0
"""Longest time to connect to a member, seconds. A round trip inside a region takes less than 2 ms."""

RETRY_S = 2.0
"""Seconds between two searches for a member that answers."""

CHUNK = 1 << 16

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, kw_only=True)
class Relay:
    """The relay. It accepts only connections from programs of its own user, because other programs of the machine may
    not reach the members."""

    addresses: tuple[str, ...]
    """Addresses that members may have."""
    pki: Path = PKI
    port: int = ETCD_CLIENT_PORT

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        with contextlib.suppress(OSError):
            if is_own(writer.get_extra_info("peername")):
                await self._pass_on(reader, writer)
        await _close(writer)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        member = await self.member()
        if member is None:
            await self._hold(reader, writer)
        else:
            await asyncio.gather(_copy(reader, member[1]), _copy(member[0], writer))

    async def member(self) -> Streams | None:
        """Return a connection to the first member that answers; None if no member answers."""
        tries = [asyncio.create_task(self._connect(address)) for address in self.addresses]
        try:
            left = set(tries)
            while left:
                done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if task.exception() is None:
                        tries.remove(task)
                        return task.result()
            return None
        finally:
            await _dropped(tries)

    async def _connect(self, address: str) -> Streams:
        context = ssl.create_default_context(cafile=str(self.pki / "etcd-ca.crt"))
        context.load_cert_chain(self.pki / "etcd-client.pem")
        context.set_alpn_protocols(["h2"])
        return await asyncio.wait_for(asyncio.open_connection(address, self.port, ssl=context), CONNECT_S)

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep a connection open, without answers, until a member answers or the client leaves."""
        writer.write(GREETING)
        client = asyncio.create_task(_drain(reader))
        while not client.done():
            await asyncio.wait([client], timeout=RETRY_S)
            if streams := await self.member():
                await _close(streams[1])
                break
        await _dropped([client])


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy data until the reader's side ends, then close the writer's side."""
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    finally:
        await _close(writer)


async def _drain(reader: asyncio.StreamReader) -> None:
    while await reader.read(CHUNK):
        pass


async def _close(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        writer.close()
        await writer.wait_closed()


async def _dropped(tasks: Iterable[asyncio.Task[object]]) -> None:
    """End tasks, and close their unused connections."""
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(result, tuple):
            await _close(result[1])


def is_own(peer: tuple[str, int], *, table: Path = Path("/proc/net/tcp")) -> bool:
    """Return whether the other end of a loopback connection is a program of this user."""
    packed = int.from_bytes(ipaddress.IPv4Address(peer[0]).packed, sys.byteorder)
    end = f"{packed:08X}:{peer[1]:04X}"
    rows = (line.split() for line in table.read_text().splitlines()[1:])
    return any(row[1] == end and int(row[7]) == os.getuid() for row in rows)


async def listen(relay: Relay, port: int) -> None:
    """Serve on loopback for ever."""
    server = await asyncio.start_server(relay.serve, "127.0.0.1", port)
    print(f"127.0.0.1:{port} forwards to the events etcd at {', '.join(relay.addresses)}", flush=True)
    async with server:
        await server.serve_forever()


def main() -> int:
    """Serve until the unit is stopped."""
    relay = Relay(addresses=tuple(NodeConfig.read().stores["events"].values()))
    asyncio.run(listen(relay, PORT))
    return 0
