"""Answer of ``longhaul-node quarantine`` and ``longhaul-node revoked``: the clients that an API server's machine or a
VPN machine refuses."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RefusedClients:
    """Clients that a machine refuses."""

    names: tuple[str, ...] = ()
    """Names of the refused machines' Nodes, in alphabetical order. Names of people are left out, because there may be
    hundreds."""
    digest: str = ""
    """Digest of all refused names, of people too."""
    loaded: bool = False
    """True when the running kube-apiserver uses this very list."""
    ended: bool = False
    """True if the server was started after the list changed, so that no connection from before the change is left."""
    error: str = ""
    """Reason why the machine does not know this; empty if it knows."""


def digest_of(names: Sequence[str]) -> str:
    """Return the SHA-256 of the names, joined by line breaks; hexadecimal."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()
