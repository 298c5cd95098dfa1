"""The check before each write that this process leads."""

from __future__ import annotations

from collections.abc import Callable


class LeadershipLostError(Exception):
    """Raised when this process does not lead any more, and must write nothing."""


class LeadershipGuard:
    """Check that a process still leads."""

    def __init__(self, leads: Callable[[], bool]) -> None:
        self.leads = leads

    def check(self) -> None:
        """Raise :class:`LeadershipLostError` unless this process may write."""
        if not self.leads():
            raise LeadershipLostError("another process leads, or the API servers do not answer")
