"""Bech32, age's encoding of keys (Bitcoin's BIP 173; age has no limit of length)."""

from __future__ import annotations

from collections.abc import Iterable

LETTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM = 6
"""Number of letters of the checksum."""


def decode(text: str) -> tuple[str, bytes]:
    """Return the part before the last ``1``, in lower case, and the decoded bytes. Raise ``ValueError`` when the text
    is invalid."""
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
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            checksum ^= generator if top >> bit & 1 else 0
    return checksum


def _bytes(values: Iterable[int]) -> bytes:
    """Return groups of five bits as bytes; remaining bits must be padding."""
    decoded, accumulator, bits = bytearray(), 0, 0
    for value in values:
        accumulator, bits = (accumulator << 5 | value) & 0xFFF, bits + 5
        if bits >= 8:
            bits -= 8
            decoded.append(accumulator >> bits & 0xFF)
    if bits >= 5 or accumulator & ((1 << bits) - 1):
        raise ValueError("the padding is wrong")
    return bytes(decoded)
