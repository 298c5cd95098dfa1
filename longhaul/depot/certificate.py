"""The certificate of a depot's server. Changed files are loaded again, so a renewal needs no restart."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path


def reloading_tls(certificate: Path, key: Path, *, say: Callable[[str], None]) -> ssl.SSLContext:
    """Return TLS settings for a server with the PEM chain ``certificate`` and its ``key``. The files are checked before
    each handshake; while they are invalid, the server goes on with the previous certificate. Raise OSError (or its
    subclass ssl.SSLError) when the files are invalid now."""
    read = _state(certificate, key)
    current = first = _load(certificate, key)

    def look(connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        nonlocal read, current
        try:
            if (state := _state(certificate, key)) != read:
                read = state
                current = _load(certificate, key)
                say(f"{certificate} was read again")
        except OSError as error:
            say(f"{load_error(certificate, key, error)}: keeping the previous certificate")
        connection.context = current

    # Called for each handshake, even when the client names no server (SSL_CTX_set_tlsext_servername_callback(3)).
    first.sni_callback = look
    return first


def load_error(certificate: Path, key: Path, error: OSError) -> str:
    """Return why the files cannot be used."""
    why = getattr(error, "reason", None) or error.strerror or "unreadable"
    return f"{certificate} and {key} cannot be used: {why}"


def _state(*paths: Path) -> list[tuple[int, int]]:
    return [(path.stat().st_ino, path.stat().st_mtime_ns) for path in paths]


def _load(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context
