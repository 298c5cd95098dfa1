"""VICI's encoding, and a session with a stand-in for charon."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lab.hypervisor.vici import Packet, Session, Tree, ViciError, decode, encode

# The example from the protocol's own description.
MESSAGE: Tree = {"key1": "value1", "section1": {"sub-section": {"key2": "value2"}, "list1": ["item1", "item2"]}}
ENCODED = (
    b"\x03\x04key1\x00\x06value1\x01\x08section1\x01\x0bsub-section\x03\x04key2\x00\x06value2\x02"
    b"\x04\x05list1\x05\x00\x05item1\x05\x00\x05item2\x06\x02"
)


def test_the_example_of_the_protocol() -> None:
    assert encode(MESSAGE) == ENCODED
    assert decode(ENCODED) == MESSAGE


@pytest.mark.parametrize("damaged", [ENCODED[:-1], ENCODED[:10], b"\x02", b"\x05\x00\x01a", b"\x09"])
def test_what_is_no_message_is_refused(damaged: bytes) -> None:
    with pytest.raises(ViciError, match="no VICI message"):
        decode(damaged)


def packet(kind: Packet, body: bytes = b"") -> bytes:
    data = bytes([kind]) + body
    return len(data).to_bytes(4, "big") + data


async def charon(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send one association for list-sas, refuse initiate, answer no other command, and hang up on ``stats``."""
    registered = 0
    while True:
        size = int.from_bytes(await reader.readexactly(4), "big")
        data = await reader.readexactly(size)
        name = data[2 : 2 + data[1]].decode()
        if name == "stats":
            writer.close()
            return
        if data[0] == Packet.REGISTER:
            registered += 1
            answers = [packet(Packet.CONFIRMED)]
        elif name == "list-sas":
            event = packet(Packet.EVENT, b"\x07list-sa" + encode({"link": {"state": "ESTABLISHED"}}))
            answers = [event * registered, packet(Packet.RESPONSE)]
        elif name == "initiate":
            answers = [packet(Packet.RESPONSE, encode({"success": "no", "errmsg": "no such child"}))]
        else:
            answers = [packet(Packet.UNKNOWN_COMMAND)]
        writer.write(b"".join(answers))


def test_a_session(tmp_path: Path) -> None:
    async def talk() -> None:
        server = await asyncio.start_unix_server(charon, str(tmp_path / "vici"))
        session = await Session.connect(tmp_path / "vici")
        heard: list[Tree] = []
        await session.listen("list-sa", heard.append)
        assert await session.command("list-sas") == {}
        assert heard == [{"link": {"state": "ESTABLISHED"}}]
        # A second listener replaces the first: charon would send events twice to a client that registered twice.
        others: list[Tree] = []
        await session.listen("list-sa", others.append)
        await session.command("list-sas")
        assert (len(heard), len(others)) == (1, 1)
        with pytest.raises(ViciError, match="initiate: no such child"):
            await session.command("initiate", {"child": "link"})
        with pytest.raises(ViciError, match="does not know version"):
            await session.command("version")
        with pytest.raises(ConnectionResetError):
            await session.command("stats")
        await session.close()
        server.close()

    asyncio.run(talk())
