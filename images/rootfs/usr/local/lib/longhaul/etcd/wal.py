"""Identity of an etcd member, read from the data directory without a start of etcd.

Every segment of etcd's write-ahead log begins with a checksum record and the metadata record, which holds the ids of
the member and of the cluster (etcd 3.6, server/storage/wal: wal.go ``cut``, encoder.go ``encodeFrameSize``;
etcdserverpb ``Metadata``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

METADATA = 1
"""Type of the metadata record (wal.go, ``MetadataType``)."""

HEAD_BYTES = 4096
"""Number of bytes to read. The first two records of a segment need less."""


class WalError(Exception):
    """Raised if the write-ahead log does not identify its member."""


@dataclass(frozen=True, kw_only=True)
class WalIdentity:
    """Ids of a member and of its cluster."""

    member: int
    cluster: int


def identity(data: Path) -> WalIdentity | None:
    """Return the identity of the data in ``data``. Return None if there is no write-ahead log: etcd, too, regards such
    a member as new. Raise ``WalError`` if the log is damaged."""
    segments = sorted((data / "member" / "wal").glob("*.wal"))
    if not segments:
        return None
    with segments[-1].open("rb") as file:
        head = file.read(HEAD_BYTES)
    try:
        record = next(fields for fields in _records(head) if fields.get(1) == METADATA)
        metadata = _fields(_bytes(record.get(3)))
        member, cluster = metadata[1], metadata[2]
    except (StopIteration, IndexError, KeyError, TypeError, ValueError):
        raise WalError(f"{segments[-1]} does not begin with etcd's metadata: the file is damaged") from None
    if not isinstance(member, int) or not isinstance(cluster, int):
        raise WalError(f"{segments[-1]} holds no member id: the file is damaged")
    return WalIdentity(member=member, cluster=cluster)


def _records(head: bytes) -> list[dict[int, int | bytes]]:
    """Return the first two records. The second is the metadata record."""
    records: list[dict[int, int | bytes]] = []
    position = 0
    for _ in range(2):
        frame = int.from_bytes(head[position : position + 8], "little")
        length = frame & ((1 << 56) - 1)
        padding = (frame >> 56) & 7 if frame >> 63 else 0
        records.append(_fields(head[position + 8 : position + 8 + length]))
        position += 8 + length + padding
    return records


def _bytes(value: int | bytes | None) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError
    return value


def _fields(message: bytes) -> dict[int, int | bytes]:
    """Return a protobuf message's integers and byte strings by field number."""
    fields: dict[int, int | bytes] = {}
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        if key & 7 == 0:
            fields[key >> 3], position = _varint(message, position)
        elif key & 7 == 2:
            length, position = _varint(message, position)
            fields[key >> 3] = message[position : position + length]
            position += length
        else:
            raise ValueError(f"wire type {key & 7}")
    return fields


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        value |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if not byte & 0x80:
            return value, position
