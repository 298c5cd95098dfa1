"""Session with strongSwan's charon over its control protocol (VICI).

The package ``vici`` writes and reads the packets. That package's session blocks, and would need a thread for each
gateway; the session here is an asyncio task. Keys go from memory to charon through a socket, so no file and no argument
contains a key.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias, Union

from vici.exception import DeserializationException  # type: ignore[import-untyped]
from vici.protocol import Message, Packet  # type: ignore[import-untyped]

Tree: TypeAlias = dict[str, Union[str, list[str], "Tree"]]
"""Message: sections, lists and values; a value is text."""


class ViciError(Exception):
    """Raised when charon refuses a command."""


class CharonSession:
    """A connection to one charon. Commands run one at a time; events arrive at any time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._listeners: dict[str, Callable[[Tree], None]] = {}
        self._answers: asyncio.Queue[tuple[int, Tree] | None] = asyncio.Queue()
        self._busy = asyncio.Lock()
        self._task = asyncio.create_task(self._listen())

    @classmethod
    async def connect(cls, path: Path) -> CharonSession:
        """Connect to the socket at ``path``, however long the path is; raises OSError when no process listens."""
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return cls(*await asyncio.open_unix_connection(f"/proc/self/fd/{folder}/{path.name}"))
        finally:
            os.close(folder)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._writer.close()

    async def command(self, name: str, message: Tree | None = None) -> Tree:
        """Send a command, and return charon's answer. Raise :class:`ViciError` when charon refuses the command, OSError
        when charon is gone."""
        answer = await self._ask(name, Packet.request(name, Message.serialize(message or {})))
        if answer.get("success", "yes") != "yes":
            raise ViciError(f"{name}: {answer.get('errmsg', 'refused')}")
        return answer

    async def listen(self, event: str, listener: Callable[[Tree], None]) -> None:
        """Call ``listener`` with each future event of a name, in place of the former listener."""
        known = event in self._listeners
        self._listeners[event] = listener
        if not known:  # charon sends an event once for each registration
            await self._ask(event, Packet.register_event(event))

    async def _ask(self, name: str, packet: bytes) -> Tree:
        async with self._busy:
            self._writer.write(struct.pack("!I", len(packet)) + packet)
            await self._writer.drain()
            got = await self._answers.get()
        if got is None:
            raise ConnectionResetError("charon has closed the connection")
        if got[0] in (Packet.CMD_UNKNOWN, Packet.EVENT_UNKNOWN):
            raise ViciError(f"charon does not know {name}")
        return got[1]

    async def _listen(self) -> None:
        try:
            while True:
                (size,) = struct.unpack("!I", await self._reader.readexactly(4))
                self._take(await self._reader.readexactly(size))
        except (OSError, EOFError, struct.error, ValueError, DeserializationException):
            self._answers.put_nowait(None)

    def _take(self, data: bytes) -> None:
        packet = Packet.parse(data)
        message = _text(Message.deserialize(packet.payload))
        if packet.response_type != Packet.EVENT:
            self._answers.put_nowait((packet.response_type, message))
        elif listener := self._listeners.get(packet.event_type.decode()):
            listener(message)


def _text(value: Any) -> Any:
    """Return a message of the package, whose values are bytes, as a tree of texts."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list):
        return [_text(item) for item in value]
    return {key: _text(inner) for key, inner in value.items()}
