"""Questions that only the machine itself can answer in time: numbers that nobody can know before."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from collections.abc import Callable

DIGITS = 10
"""As many as Azure signs (learn.microsoft.com, "Azure Instance Metadata Service for virtual machines": "Nonce is an
optional 10-digit string"). They are a hash of the machine's key under a secret of this process: who has somebody else's
answer can find no key that it fits but by asking here, once in 10^10 times rightly."""

PERIOD_S = 60
"""A challenge is good for one to two of them: to ask the cloud and to come back takes seconds."""


class Challenges:
    """Makes and knows again challenges, and remembers none."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._secret = clock, os.urandom(32)

    def make(self, fingerprint: str) -> str:
        """The challenge for a key now."""
        return self._number(fingerprint, self._period())

    def knows(self, fingerprint: str, challenge: str) -> bool:
        """Whether it is the key's, and was made a moment ago. What is no ten digits may not even be writable."""
        if re.fullmatch(rf"[0-9]{{{DIGITS}}}", challenge) is None:
            return False
        now = self._period()
        good = [self._number(fingerprint, period) for period in (now, now - 1)]
        return any(hmac.compare_digest(each.encode(), challenge.encode()) for each in good)

    def _period(self) -> int:
        return int(self._clock() // PERIOD_S)

    def _number(self, fingerprint: str, period: int) -> str:
        digest = hmac.new(self._secret, f"{period} {fingerprint}".encode(), hashlib.sha256).digest()
        return f"{int.from_bytes(digest, 'big') % 10**DIGITS:0{DIGITS}}"
