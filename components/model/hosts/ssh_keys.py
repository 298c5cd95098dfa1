"""SSH host keys of gateways and hosts: checks that a pinned text is a key."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from clouds.base.faults import Fault, Location
from components.model.environment import Environment

_LENGTHS = {"ssh-ed25519": (32,), "ecdsa-sha2-nistp256": (8, 65)}
"""Lengths in bytes of the parts after the type (RFC 8709, section 4; RFC 5656, section 3.1). The lengths of an RSA
key's parts, an exponent and a modulus, vary (RFC 4253, section 6.6)."""
_RSA_PARTS = 2


def check_host_keys(environment: Environment) -> Iterator[Fault]:
    """Yield a fault for each pinned key that no machine can have, such as a key that was cut off when it was copied."""
    for at, key in pinned(environment):
        wrong = "" if key is None else key_fault(key)
        if wrong:
            write = "the whole line of `ssh-keyscan` without the host, or leave it out until the machine is there"
            yield Fault(at=at, wrong=wrong, write=write)


def pinned(environment: Environment) -> Iterator[tuple[Location, str | None]]:
    """Yield the place and the pinned key of every gateway and host; None where none is pinned."""
    for name, site in environment.sites.items():
        for index, gateway in enumerate(site.gateways):
            yield ("sites", name, "gateways", index, "host_key"), gateway.host_key
    for index, host in enumerate(environment.hosts):
        yield ("hosts", index, "host_key"), host.host_key


def key_fault(key: str) -> str:
    """Return the fault of a public key, given as type and base64; empty when it can be a key."""
    kind, text = key.split()[:2]
    try:
        parts = list(_parts(base64.b64decode(text, validate=True)))
    except (binascii.Error, ValueError):
        return "is not a key: its second word is incomplete or is not base64"
    if not parts or parts[0] != kind.encode():
        return f"is not a key of type {kind}: the second word is of another type"
    lengths = tuple(map(len, parts[1:]))
    fits = len(lengths) == _RSA_PARTS and min(lengths) > 0 if kind == "ssh-rsa" else lengths == _LENGTHS[kind]
    return (
        ""
        if fits
        else f"is not a key of type {kind}: its second word has parts of {', '.join(map(str, lengths))} bytes"
    )


def _parts(data: bytes) -> Iterator[bytes]:
    """Yield the strings of SSH's encoding; each follows its length of four bytes (RFC 4251, section 5)."""
    while data:
        length = int.from_bytes(data[:4], "big")
        part, data = data[4 : 4 + length], data[4 + length :]
        if len(part) < length:
            raise ValueError("a part is cut")
        yield part
