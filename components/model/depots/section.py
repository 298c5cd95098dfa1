"""Section ``depots``: how machines know that a depot serves the builder's files."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from pydantic import Field

from clouds.base.section import Section

EXAMPLE_KEY = "mDMEZZIAgBYJKwYBBAHaRw8BAQdAanbVxeNsK4742hHLMBphyfviDmF05ZXVdpGlDIfcSJc="
"""A key in its shortest form. It lacks the user id that gpg requires."""
EXAMPLE_AUTHORITY = """\
-----BEGIN CERTIFICATE-----
MIIBjzCCATWgAwIBAgIUTPPMtz8K+V3lqBS0oimSEIhPVPYwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGZGVwb3RzMCAXDTI0MDEwMTAwMDAwMFoYDzIxMjQwMTAxMDAw
MDAwWjARMQ8wDQYDVQQDDAZkZXBvdHMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AASqXcAWAspJMm1D2HmoquRk+xzmvtjFkYl46NqhKmSBRMd+E9o1WlcCNGAGWmk3
cZACzqfv3YppJqpNF8sNQJxXo2kwZzASBgNVHRMBAf8ECDAGAQH/AgEAMA4GA1Ud
DwEB/wQEAwICBDAdBgNVHQ4EFgQUkmwEK7RMWSq+ssWQcxduknZtIkkwIgYDVR0e
AQH/BBgwFqAUMBKCEGV4YW1wbGUuaW50ZXJuYWwwCgYIKoZIzj0EAwIDSAAwRQIh
ALB6BfcqE5kbg4SUye3t4H8RSXC0IrTHhBaSpUhQCIssAiA2FceSTqa7SlpdVlrN
OiiKLoFuq/q3e7nAmB9m8RF0xw==
-----END CERTIFICATE-----
"""
"""An authority for ``example.internal``, until 2124."""

_PUBLIC_KEY, _PUBLIC_SUBKEY = 6, 14
_SECRET_KEY, _SECRET_SUBKEY = 5, 7
_PUBLIC = frozenset((2, _PUBLIC_KEY, 13, _PUBLIC_SUBKEY, 17))
"""Kinds of packets in public keys: signatures, keys, user ids (RFC 9580, 5 and 10.1)."""


class Depots(Section):
    """Settings of all sites' depots."""

    key: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9+/]{40,}={0,2}$",
        max_length=16_384,
        examples=[EXAMPLE_KEY],
        json_schema_extra={"patternErrorMessage": "an OpenPGP public key in base64, on one line"},
    )
    """Public half of the OpenPGP key with which `longhaul depot build --sign` signs. Machines take from a depot only
    what this key signed. Without a key, roles refuse the depot's files, and nodes accept any image from it. While one
    key replaces another, list both here: `gpg --export OLD NEW | base64 --wrap=0`."""
    authority: str | None = Field(
        default=None,
        max_length=16_384,
        examples=[EXAMPLE_AUTHORITY],
        json_schema_extra={"patternErrorMessage": "certificates of authorities, PEM, one after another"},
    )
    """Certificate (PEM) of the authority that signs for the servers of depots. Machines trust it for their site's depot
    and for nothing else. While one authority replaces another, list the certificates of both, one after the other. If
    left out, a depot's certificate must come from an authority in each machine's own store."""


def key_fault(text: str) -> str:
    """Return the fault of a key from the file; empty when it is one public key or several."""
    try:
        kinds = set(_packets(base64.b64decode(text, validate=True)))
    except (binascii.Error, ValueError):
        return "is not an OpenPGP key"
    if kinds & {_SECRET_KEY, _SECRET_SUBKEY}:
        return "holds a private key, which only the builder may have"
    return "" if _PUBLIC_KEY in kinds and kinds <= _PUBLIC else "is not an OpenPGP public key"


def _packets(content: bytes) -> Iterator[int]:
    """Yield the kind of each packet (RFC 9580, 4.2). Raise ``ValueError`` when ``content`` is not a sequence of
    packets."""
    at = 0
    while at < len(content):
        head = content[at]
        if not head & 0x80:
            raise ValueError("no packet begins here")
        yield head & 0x3F if head & 0x40 else (head >> 2) & 0x0F
        at = (_after_new if head & 0x40 else _after_old)(content, at)
    if at > len(content):
        raise ValueError("the last packet is incomplete")


def _after_old(content: bytes, at: int) -> int:
    """Return the end of a packet whose length is in the older format. Packets without a length are refused: keys have
    none."""
    octets = (1, 2, 4, 0)[content[at] & 3]
    length = content[at + 1 : at + 1 + octets]
    if not octets or len(length) < octets:
        raise ValueError("a packet without a length")
    return at + 1 + octets + int.from_bytes(length)


def _after_new(content: bytes, at: int) -> int:
    """Return the end of a packet whose length is in the newer format. Partial lengths are refused: they are for data,
    not for keys."""
    length = content[at + 1 : at + 6]
    if not length or 224 <= length[0] < 255 or (length[0] >= 192 and len(length) < (2 if length[0] < 224 else 5)):
        raise ValueError("a packet without a length")
    if length[0] < 192:
        return at + 2 + length[0]
    if length[0] < 224:
        return at + 3 + ((length[0] - 192) << 8) + length[1] + 192
    return at + 6 + int.from_bytes(length[1:5])
