"""Bech32, in which age writes its keys (Bitcoin's BIP 173; age has no limit of length)."""

from __future__ import annotations

from collections.abc import Iterable

LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM = 6
"""Number of letters of the checksum."""


def decode(text: str) -> tuple[str, bytes]:
    """Return the part before the last ``1``, in lower case, and the bytes; ``ValueError`` when the text is none."""
    if text not in (text.lower(), text.upper()):
        raise ValueError("small and capital letters are mixed")
    kind, _, data = text.lower().rpartition("1")
    values = [LETTERS.index(letter) for letter in data]
    if not kind or _polymod([*_expanded(kind), *values]) != 1:
        raise ValueError("the checksum is wrong")
    return kind, _bytes(values[:-_CHECKSUM])


def _expanded(kind: str) -> list[int]:
    return [*(ord(letter) >> 5 for letter in kind), 0, *(ord(letter) & 31 for letter in kind)]


def _polymod(values: Iterable[int]) -> int:
    found = 1
    for value in values:
        top = found >> 25
        found = (found & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            found ^= generator if top >> bit & 1 else 0
    return found


def _bytes(values: Iterable[int]) -> bytes:
    """Return groups of five bits as bytes; what is left over must be padding."""
    found, held, bits = bytearray(), 0, 0
    for value in values:
        held, bits = (held << 5 | value) & 0xFFF, bits + 5
        if bits >= 8:
            bits -= 8
            found.append(held >> bits & 0xFF)
    if bits >= 5 or held & ((1 << bits) - 1):
        raise ValueError("the padding is wrong")
    return bytes(found)
