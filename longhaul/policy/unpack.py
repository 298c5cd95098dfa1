"""User data as a machine will read it: base64, gzip, and files inside that are packed once more."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator

LARGEST = 1 << 20
"""Bytes that are unpacked of one part. Clouds take at most 64 KiB packed (components/render/cloud_init.py); more than
this is not read by anybody."""

DEEPEST = 3
"""How often something can be packed: the cloud's base64, cloud-init's `gz+b64` of a file, and one more."""

GZIP = b"\x1f\x8b"
_PACKED = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
"""What may be base64 inside a text; shorter is no file of interest."""


def plain_texts(data: str, *, depth: int = DEEPEST) -> Iterator[str]:
    """``data``, and every text that is packed in it, outermost first."""
    whole = _decoded(data.strip())
    if whole is not None and depth:
        # All of it is packed: nothing is to be read outside.
        yield from plain_texts(whole, depth=depth - 1)
        return
    yield data
    if depth:
        for found in _PACKED.findall(data):
            inside = _decoded(found)
            if inside is not None:
                yield from plain_texts(inside, depth=depth - 1)


def _decoded(packed: str) -> str | None:
    """The text that ``packed`` is the base64 of, gzip undone; None when it is none."""
    try:
        content = base64.b64decode("".join(packed.split()), validate=True)
        if content.startswith(GZIP):
            # 31: with gzip's header (zlib.decompressobj).
            content = zlib.decompressobj(31).decompress(content, LARGEST)
        text = content.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        return None
    return text if (text and text.isprintable()) or "\n" in text else None
