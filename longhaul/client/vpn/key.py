"""A laptop's private key and certificate request. Both are made by the program ``openssl``: the standard library can
make neither, and OpenVPN needs OpenSSL anyway."""

from __future__ import annotations

import subprocess

from longhaul.terminal.exits import CommandError

_KEY = ("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
_REQUEST = ("req", "-new", "-key", "/dev/stdin", "-subj", "/CN=laptop")
"""The request's subject is ignored: the endpoint writes the person's name."""


def new_key() -> str:
    """Return a new private key, PEM (openssl-genpkey(1))."""
    return _openssl(_KEY)


def request(key: str) -> str:
    """Return a certificate request for the key, PEM (PKCS#10, openssl-req(1))."""
    return _openssl(_REQUEST, key)


def _openssl(words: tuple[str, ...], content: str = "") -> str:
    try:
        done = subprocess.run(["openssl", *words], input=content, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CommandError(
            "the program `openssl`, which makes keys, is missing: install it (Debian: openssl)"
        ) from None
    if done.returncode != 0:
        raise CommandError(f"openssl {words[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout
