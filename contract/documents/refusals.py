"""Answer in which an API server's machine or a VPN machine says whom it refuses: ``longhaul-node quarantine`` and
``longhaul-node revoked``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RefusedClients:
    """Clients that a machine refuses."""

    names: tuple[str, ...] = ()
    """Names of their Nodes, in alphabetical order. Names of people are left out: there may be hundreds."""
    digest: str = ""
    """Digest of all names."""
    loaded: bool = False
    """True when the running kube-apiserver uses this very list."""
    ended: bool = False
    """True when the server was started after the list changed: no connection from before is left."""
    error: str = ""
    """Reason why that is not known; empty when it is."""


def digest_of(names: Sequence[str]) -> str:
    """Return the SHA-256 of the names, joined by line breaks; hexadecimal."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()
