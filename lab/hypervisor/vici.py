"""Client of strongSwan's control protocol (VICI), as far as gateways need it.

Keys go from memory to charon through a socket, so they are in no file and no argument. The protocol:
https://github.com/strongswan/strongswan/blob/master/src/libcharon/plugins/vici/README.md.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import TypeAlias, Union

Message: TypeAlias = Mapping[str, Union[str, Sequence[str], "Message"]]
"""Message to send: sections, lists and values; a value is text."""
Tree: TypeAlias = dict[str, Union[str, list[str], "Tree"]]
"""Message as it is read."""


class ViciError(Exception):
    """Raised when charon refuses a command, or answers something that is not VICI."""


class Packet(IntEnum):
    """Types of packets."""

    REQUEST = 0
    RESPONSE = 1
    UNKNOWN_COMMAND = 2
    REGISTER = 3
    CONFIRMED = 5
    UNKNOWN_EVENT = 6
    EVENT = 7


class _Element(IntEnum):
    SECTION_START = 1
    SECTION_END = 2
    KEY_VALUE = 3
    LIST_START = 4
    LIST_ITEM = 5
    LIST_END = 6


def encode(message: Message) -> bytes:
    """Encode a message."""
    return b"".join(_encoded(message))


def _encoded(message: Message) -> Iterator[bytes]:
    for key, value in message.items():
        name = _name(key)
        if isinstance(value, str):
            yield bytes([_Element.KEY_VALUE]) + name + _value(value)
        elif isinstance(value, Mapping):
            yield bytes([_Element.SECTION_START]) + name
            yield from _encoded(value)
            yield bytes([_Element.SECTION_END])
        else:
            yield bytes([_Element.LIST_START]) + name
            for item in value:
                yield bytes([_Element.LIST_ITEM]) + _value(item)
            yield bytes([_Element.LIST_END])


def _name(text: str) -> bytes:
    data = text.encode()
    return bytes([len(data)]) + data


def _value(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(2, "big") + data


def decode(data: bytes) -> Tree:
    """Decode a message; raises :class:`ViciError` for bytes that are not one."""
    try:
        return _Reader(data).message()
    except (IndexError, ValueError) as error:
        raise ViciError(f"no VICI message: {error}") from error


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def message(self) -> Tree:
        tree: Tree = {}
        open_sections: list[Tree] = []
        items: list[str] | None = None
        while self._at < len(self._data):
            match _Element(self._number(1)):
                case _Element.SECTION_START:
                    inner: Tree = {}
                    tree[self._text(1)] = inner
                    open_sections.append(tree)
                    tree = inner
                case _Element.SECTION_END:
                    tree = open_sections.pop()
                case _Element.KEY_VALUE:
                    key = self._text(1)
                    tree[key] = self._text(2)
                case _Element.LIST_START:
                    items = []
                    tree[self._text(1)] = items
                case _Element.LIST_ITEM if items is not None:
                    items.append(self._text(2))
                case _Element.LIST_END:
                    items = None
                case other:
                    raise ValueError(f"{other.name} outside of a list")
        if open_sections:
            raise ValueError("a section has no end")
        return tree

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def _text(self, size: int) -> str:
        return self._take(self._number(size)).decode(errors="replace")

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError("it ends too early")
        self._at += size
        return taken


class Session:
    """A connection to one charon. Commands run one at a time; events arrive at any time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._listeners: dict[str, Callable[[Tree], None]] = {}
        self._answers: asyncio.Queue[tuple[Packet, Tree] | None] = asyncio.Queue()
        self._busy = asyncio.Lock()
        self._task = asyncio.create_task(self._listen())

    @classmethod
    async def connect(cls, path: Path) -> Session:
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

    async def command(self, name: str, message: Message | None = None) -> Tree:
        """Send a command, and return charon's answer. Raises :class:`ViciError` when it refuses, OSError when it is
        gone."""
        answer = await self._ask(Packet.REQUEST, name, encode(message or {}))
        if answer.get("success", "yes") != "yes":
            raise ViciError(f"{name}: {answer.get('errmsg', 'refused')}")
        return answer

    async def listen(self, event: str, heard: Callable[[Tree], None]) -> None:
        """Call ``heard`` with each event of a name from now on, instead of the function that was called before."""
        known = event in self._listeners
        self._listeners[event] = heard
        if not known:  # charon sends an event once for each registration
            await self._ask(Packet.REGISTER, event)

    async def _ask(self, kind: Packet, name: str, body: bytes = b"") -> Tree:
        async with self._busy:
            data = bytes([kind]) + _name(name) + body
            self._writer.write(len(data).to_bytes(4, "big") + data)
            await self._writer.drain()
            got = await self._answers.get()
        if got is None:
            raise ConnectionResetError("charon has closed the connection")
        if got[0] in (Packet.UNKNOWN_COMMAND, Packet.UNKNOWN_EVENT):
            raise ViciError(f"charon does not know {name}")
        return got[1]

    async def _listen(self) -> None:
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                self._take(await self._reader.readexactly(size))
        except (OSError, EOFError, ViciError, ValueError):
            self._answers.put_nowait(None)

    def _take(self, data: bytes) -> None:
        kind = Packet(data[0])
        if kind is not Packet.EVENT:
            self._answers.put_nowait((kind, decode(data[1:])))
            return
        length = data[1]
        name, message = data[2 : 2 + length].decode(), decode(data[2 + length :])
        if name in self._listeners:
            self._listeners[name](message)
