"""Checks that user data holds no secret, and that the engine's state holds none in plain text."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping

from clouds.base import policy_rules
from clouds.base.inputs import at, is_hidden, is_secret, is_unknown, walk
from clouds.base.policy import Breach, Check, Declared, Resource

LARGEST = 1 << 20
"""Largest number of bytes that are unpacked from one part. Clouds accept at most 64 KiB packed
(components/render/cloud_init.py); content beyond this limit is not read."""

DEEPEST = 3
"""Number of nested packings that are undone: the cloud's base64, cloud-init's `gz+b64` of a file, and one more."""

GZIP = b"\x1f\x8b"
_PACKED = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
"""Text that may be base64. Shorter text cannot hold a file that matters."""


_QUOTE = r"[\"']?"
_SEPARATOR = rf"{_QUOTE}[ \t]*[:=][ \t]*"
_VALUE = rf"{_QUOTE}(?![/$<{{\[]|https?:)(?:[^\s\"',;{{}}\[\]$]|\$(?!{{)){{6,}}"
"""A real value: not a placeholder (`${…}`, `<…>`), not a path, not an address."""

_ENTRY = rf"{_QUOTE}[a-z]+(?:-[a-z0-9]+)*(?:[\"'\s,;}}]|$)"
"""Name of an entry in the vault, which machines may know."""

_NAMES = (
    r"passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key|pre[_-]?shared[_-]?key|psk|client-key-data|"
    # etcd's `initial-cluster-token` is a name that distinguishes clusters (etcd.io, "Configuration options").
    r"(?<!cluster_)token"
)
"""Names of keys that hold a secret, in lower case."""

PATTERNS: Mapping[str, re.Pattern[str]] = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    "a private key in age's format": re.compile(r"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a storage account's key": re.compile(r"\b(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{20,}"),
    "a signed storage address": re.compile(r"[?&]sig=[A-Za-z0-9%]{20,}"),
    "a signed token": re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,})"),
    "a Kubernetes bootstrap token": re.compile(r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])"),
    "a password's hash": re.compile(r"\$(?:1|5|6|y|2[abxy])\$[./A-Za-z0-9$=,]{8,}"),
    "a password or token": re.compile(rf"(?i)(?:\b|_)(?:{_NAMES}){_SEPARATOR}{_VALUE}"),
    "a secret": re.compile(rf"(?i:(?:\b|_)secret{_SEPARATOR})(?!{_ENTRY}){_VALUE}"),
}
"""Patterns of secrets, by the kind of secret. They are formats that can be recognised (RFC 7468, 7519;
docs.aws.amazon.com, "IAM identifiers"; kubernetes.io, "Authenticating with Bootstrap Tokens"; crypt(5)), and names of
keys that hold a secret."""

_SECRET_KEYS = re.compile(
    r"(?i)(password|passphrase|sharedkey|secretstring|secretkey|authorizationkey|privatekey(pem)?)$"
)
"""Properties that hold a secret whatever their value is, in the SDKs' spelling."""


def plain_texts(data: str, *, depth: int = DEEPEST) -> Iterator[str]:
    """Yield ``data`` and every text that is packed in it, outermost first."""
    whole = _decoded(data.strip())
    if whole is not None and depth:
        # All of ``data`` is packed, so it holds no plain text.
        yield from plain_texts(whole, depth=depth - 1)
        return
    yield data
    if depth:
        for packed in _PACKED.findall(data):
            inside = _decoded(packed)
            if inside is not None:
                yield from plain_texts(inside, depth=depth - 1)


def _decoded(packed: str) -> str | None:
    """Return the text that ``packed`` holds as base64, uncompressed if it is gzip; None when it holds no text."""
    try:
        content = base64.b64decode("".join(packed.split()), validate=True)
        if content.startswith(GZIP):
            # 31 selects the gzip format (zlib.decompressobj).
            content = zlib.decompressobj(31).decompress(content, LARGEST)
        text = content.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError):
        return None
    return text if (text and text.isprintable()) or "\n" in text else None


def secrets_in(data: str) -> Iterator[tuple[str, int]]:
    """Yield the kind of each possible secret in user data after unpacking, and its line in its part, counted from 1;
    never the secret itself."""
    for text in plain_texts(data):
        for what, pattern in PATTERNS.items():
            for match in pattern.finditer(text):
                yield what, text.count("\n", 0, match.start()) + 1


def user_data_check(places: Mapping[str, tuple[str, ...]]) -> Check:
    """Return a check for secrets in user data. ``places`` holds the paths of user data, by kind of resource."""

    def look(resource: Resource, _: Declared) -> Iterator[Breach]:
        yield from _user_data(resource, places[resource.kind])

    return Check(rule=policy_rules.SECRET_IN_USER_DATA, kinds=frozenset(places), look=look)


def _user_data(resource: Resource, places: Iterable[str]) -> Iterator[Breach]:
    write = "the secret in the vault, fetched by the machine with its own identity (docs/certificates.md)"
    for place in places:
        data = at(resource.inputs, place)
        if data is not None and is_hidden(resource.inputs, place):
            yield Breach(what=f"{place} is made of a secret", write=write)
        elif isinstance(data, str) and not is_unknown(data):
            for what, line in sorted(set(secrets_in(data))):
                yield Breach(what=f"{place}, unpacked, line {line}: {what}", write=write)


def _plain(resource: Resource, _: Declared) -> Iterator[Breach]:
    for place, key, value in walk(resource.inputs):
        hidden = is_unknown(value) or is_secret(value)
        if _SECRET_KEYS.search(key) and isinstance(value, str) and value and not hidden:
            yield Breach(what=f"{place} is in plain text in the engine's state", write="an output marked as secret")


CHECKS = (Check(rule=policy_rules.SECRET_IN_PLAIN, kinds=frozenset(), look=_plain),)
