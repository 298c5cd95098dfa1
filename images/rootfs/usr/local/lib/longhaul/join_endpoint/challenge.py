"""Challenges: unpredictable numbers that only the machine itself can answer in time."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from collections.abc import Callable

DIGITS = 10
"""Number of digits of a challenge: as many as Azure signs (learn.microsoft.com, "Azure Instance Metadata Service for
virtual machines": "Nonce is an optional 10-digit string"). They are a hash of the machine's key under a secret of this
process. An attacker who holds another machine's answer can find a key that fits it only by asking here, and each try
succeeds with a chance of 1 in 10^10."""

PERIOD_S = 60
"""Length of a period in seconds. A challenge is valid for one to two periods: asking the cloud and coming back takes
seconds."""


class Challenges:
    """Makes challenges and recognises them later, without storing any."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._secret = clock, os.urandom(32)

    def make(self, fingerprint: str) -> str:
        """Return the present challenge for a key."""
        return self._number(fingerprint, self._period())

    def knows(self, fingerprint: str, challenge: str) -> bool:
        """Return whether the challenge was made for this key in the present or the previous period. Anything but ten
        digits is refused first: it may contain characters that cannot be encoded."""
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
