"""Reads the header of a file that age encrypted: unwraps the file key with a private key, and wraps it for another
recipient.

So the owner of the private key can let a machine decrypt one file, while neither the private key nor the file's content
leaves its place. The format is ``age-encryption.org/v1`` (C2SP, age.md), with recipients of type X25519 only.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from components.model.backups import bech32

VERSION = b"age-encryption.org/v1\n"
STANZA = b"-> X25519 "
END = b"\n--- "
MAC_LETTERS = 43
"""Number of base64 letters of a 32-byte MAC without padding."""
FILE_KEY = 16
"""Number of bytes of a file key."""
WRAPPED = FILE_KEY + 16
NONCE = bytes(12)
"""Nonce of a wrapped file key: zero, since its key is used once."""


class KeyFileError(Exception):
    """The file has no private key of a supported type."""


class HeaderError(Exception):
    """The header is invalid, or none of the keys opens it."""


def identities(path: Path) -> list[X25519PrivateKey]:
    """Return the private keys in a file from ``age-keygen``. Raise ``KeyFileError`` when there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise KeyFileError(f"{path} is not text: decrypt a key file with a passphrase first, by `age -d`") from None
    except OSError as error:
        raise KeyFileError(f"{path}: {error.strerror or type(error).__name__}") from None
    keys = [_identity(path, number, line.strip()) for number, line in enumerate(lines, 1) if _is_key(line)]
    if not keys:
        raise KeyFileError(f"{path} has no private key of age, which is a line AGE-SECRET-KEY-1…")
    return keys


def _is_key(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _identity(path: Path, number: int, text: str) -> X25519PrivateKey:
    try:
        kind, secret = bech32.decode(text)
    except ValueError:
        raise KeyFileError(f"{path}, line {number}: this is not a private key of age") from None
    if kind != "age-secret-key-" or len(secret) != 32:
        raise KeyFileError(f"{path}, line {number}: backups use only keys of the form AGE-SECRET-KEY-1…")
    return X25519PrivateKey.from_private_bytes(secret)


def read_header(head: bytes) -> bytes:
    """Return the header at the beginning of ``head``. Raise ``HeaderError`` unless ``head`` contains all of it."""
    if not head.startswith(VERSION):
        raise HeaderError("it does not begin as a file of age")
    end = head.find(END)
    whole = end + len(END) + MAC_LETTERS + 1
    if end < 0 or len(head) < whole or head[whole - 1 : whole] != b"\n":
        raise HeaderError("its header is not whole")
    return head[:whole]


def unwrap(header: bytes, keys: Sequence[X25519PrivateKey]) -> bytes:
    """Return the file key. Raise ``HeaderError`` when none of the private keys opens the header, or it was changed."""
    for ephemeral, body in _stanzas(header):
        for key in keys:
            recipient = key.public_key().public_bytes_raw()
            wrapping = _derived(
                _exchanged(key, ephemeral), salt=ephemeral + recipient, info=b"age-encryption.org/v1/X25519"
            )
            try:
                file_key = ChaCha20Poly1305(wrapping).decrypt(NONCE, body, None)
            except InvalidTag:
                continue
            mac = _unpadded(header[-MAC_LETTERS - 1 : -1])
            if not hmac.compare_digest(_mac(file_key, header[: -MAC_LETTERS - 2]), mac):
                raise HeaderError("its header was changed")
            return file_key
    raise HeaderError("none of the private keys opens it")


def wrap(file_key: bytes, recipient: str) -> bytes:
    """Return a header with the file key for one public key, ``age1…``. Raise ``HeaderError`` when the key is
    invalid."""
    try:
        kind, theirs = bech32.decode(recipient)
    except ValueError:
        kind, theirs = "", b""
    if kind != "age" or len(theirs) != 32:
        raise HeaderError("it answers with no public key of age")
    once = X25519PrivateKey.generate()
    ephemeral = once.public_key().public_bytes_raw()
    wrapping = _derived(_exchanged(once, theirs), salt=ephemeral + theirs, info=b"age-encryption.org/v1/X25519")
    body = ChaCha20Poly1305(wrapping).encrypt(NONCE, file_key, None)
    text = VERSION + STANZA + _base64(ephemeral) + b"\n" + _base64(body) + END[:-1]
    return text + b" " + _base64(_mac(file_key, text)) + b"\n"


def _stanzas(header: bytes) -> list[tuple[bytes, bytes]]:
    """Return ephemeral key and wrapped file key of each X25519 recipient. Bodies of another length are skipped: they
    belong to other types of recipients."""
    lines = header.splitlines(keepends=True)
    pairs = [
        (_unpadded(line.removeprefix(STANZA).strip()), _unpadded(lines[index + 1].strip()))
        for index, line in enumerate(lines[:-1])
        if line.startswith(STANZA)
    ]
    return [(ephemeral, body) for ephemeral, body in pairs if (len(ephemeral), len(body)) == (32, WRAPPED)]


def _exchanged(key: X25519PrivateKey, theirs: bytes) -> bytes:
    try:
        return key.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise HeaderError("a public key in it is of low order") from None


def _derived(secret: bytes, *, salt: bytes, info: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=info).derive(secret)


def _mac(file_key: bytes, text: bytes) -> bytes:
    """Return the MAC of a header, which covers the text up to ``---``."""
    return hmac.digest(_derived(file_key, salt=b"", info=b"header"), text, "sha256")


def _base64(content: bytes) -> bytes:
    return base64.b64encode(content).rstrip(b"=")


def _unpadded(text: bytes) -> bytes:
    try:
        return base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise HeaderError("its header is not in base64") from None
