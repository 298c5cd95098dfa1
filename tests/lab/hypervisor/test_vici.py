"""Session with a stand-in for charon."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from vici.protocol import Message, Packet  # type: ignore[import-untyped]

from lab.hypervisor.vici import CharonSession, Tree, ViciError

ASSOCIATION: Tree = {"link": {"state": "ESTABLISHED", "remote-ts": ["10.1.0.0/16", "10.2.0.0/16"], "child-sas": {}}}


def packet(kind: int, body: bytes = b"") -> bytes:
    data = bytes([kind]) + body
    return len(data).to_bytes(4, "big") + data


async def charon(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer get-conns with what it was sent, send one association for list-sas, and refuse initiate. Hang up on stats,
    and answer version with bytes that are no message. Know no other command."""
    registered = 0
    while True:
        size = int.from_bytes(await reader.readexactly(4), "big")
        data = await reader.readexactly(size)
        name, sent = data[2 : 2 + data[1]].decode(), data[2 + data[1] :]
        if name == "stats":
            writer.close()
            return
        if data[0] == Packet.EVENT_REGISTER:
            registered += 1
            answers = [packet(Packet.EVENT_CONFIRM)]
        elif name == "get-conns":
            answers = [packet(Packet.CMD_RESPONSE, sent)]
        elif name == "list-sas":
            event = packet(Packet.EVENT, b"\x07list-sa" + Message.serialize(ASSOCIATION))
            answers = [event * registered, packet(Packet.CMD_RESPONSE)]
        elif name == "initiate":
            refusal = Message.serialize({"success": "no", "errmsg": "no such child"})
            answers = [packet(Packet.CMD_RESPONSE, refusal)]
        elif name == "version":
            answers = [packet(Packet.CMD_RESPONSE, b"\x02")]
        else:
            answers = [packet(Packet.CMD_UNKNOWN)]
        writer.write(b"".join(answers))


def test_a_session(tmp_path: Path) -> None:
    async def talk() -> None:
        server = await asyncio.start_unix_server(charon, str(tmp_path / "vici"))
        session = await CharonSession.connect(tmp_path / "vici")
        heard: list[Tree] = []
        await session.listen("list-sa", heard.append)
        assert await session.command("list-sas") == {}
        assert heard == [ASSOCIATION]
        assert await session.command("get-conns", ASSOCIATION) == ASSOCIATION
        # A second listener replaces the first: charon would send events twice to a client that registered twice.
        others: list[Tree] = []
        await session.listen("list-sa", others.append)
        await session.command("list-sas")
        assert (len(heard), len(others)) == (1, 1)
        with pytest.raises(ViciError, match="initiate: no such child"):
            await session.command("initiate", {"child": "link"})
        with pytest.raises(ViciError, match="does not know reload"):
            await session.command("reload")
        await session.close()
        server.close()

    asyncio.run(talk())


@pytest.mark.parametrize("last", ["stats", "version"])
def test_a_session_ends_when_charon_hangs_up_or_sends_no_message(tmp_path: Path, last: str) -> None:
    async def talk() -> None:
        server = await asyncio.start_unix_server(charon, str(tmp_path / "vici"))
        session = await CharonSession.connect(tmp_path / "vici")
        with pytest.raises(ConnectionResetError):
            await session.command(last)
        await session.close()
        server.close()

    asyncio.run(talk())
