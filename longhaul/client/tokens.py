"""A person's tokens, stored between runs in a file that nobody else can read."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from longhaul.client.files import state_folder, write_private
from longhaul.client.profile import ProfileIssuer

EARLY_S = 60
"""A token is no longer used in this number of seconds before its expiry, because a request takes time, and clocks
differ."""


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """Tokens from an issuer."""

    id_token: str
    refresh_token: str
    """Empty when the issuer gives none."""
    ends: float
    """Expiry of the ID token, in seconds since 1970 by this machine's clock. It is computed from the token's lifetime,
    so a wrong clock does no harm."""

    def good(self, left_s: float = EARLY_S) -> bool:
        """Return whether the ID token remains valid for ``left_s`` seconds."""
        return time.time() < self.ends - left_s


class TokenStore:
    """The file with the tokens that one issuer gave one client for one set of servers (:meth:`Profile.place`). Programs
    that run side by side take turns, since an issuer may accept a refresh token only once."""

    def __init__(self, issuer: ProfileIssuer, place: str) -> None:
        digest = hashlib.sha256(f"{issuer.url} {issuer.client_id} {issuer.scopes} {place}".encode()).hexdigest()[:16]
        self._path = state_folder("tokens") / f"{digest}.json"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock out other programs during the block."""
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._path.with_suffix(".lock"), os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(descriptor) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def read(self) -> Tokens | None:
        """Return the tokens; None when there are no usable tokens."""
        with suppress(OSError, ValueError, TypeError):
            return Tokens(**json.loads(self._path.read_text(encoding="utf-8")))
        return None

    def write(self, tokens: Tokens) -> None:
        """Store the tokens."""
        write_private(self._path, json.dumps(asdict(tokens)) + "\n")

    def forget(self) -> None:
        """Delete the tokens."""
        self._path.unlink(missing_ok=True)
