"""Challenges: unpredictable numbers that a machine's proof must contain."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import time
from collections.abc import Callable

DIGITS = 10
"""Number of digits of a challenge, which is the number that Azure signs (learn.microsoft.com, "Azure Instance Metadata
Service for virtual machines": "Nonce is an optional 10-digit string"). The digits are a hash of the machine's key with
a secret of this process. An attacker with another machine's answer would need a key with the same challenge. Only this
endpoint makes challenges, and each try succeeds with a chance of 1 in 10^10."""

PERIOD_S = 60
"""Length of a period in seconds. A challenge is valid for one to two periods, whereas a machine gets its cloud's answer
within seconds."""


class Challenges:
    """Maker and verifier of challenges, which are not stored."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._secret = clock, os.urandom(32)

    def make(self, fingerprint: str) -> str:
        """Return the present challenge for a key."""
        return self._number(fingerprint, self._period())

    def knows(self, fingerprint: str, challenge: str) -> bool:
        """Return whether the challenge was made for this key in the present or the previous period. Anything but ten
        digits is refused before the comparison, because it may contain characters that cannot be encoded."""
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
