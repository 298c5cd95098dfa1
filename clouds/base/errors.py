"""Errors of requests to a cloud."""

from __future__ import annotations


class CloudError(Exception):
    """Raised when a cloud refuses a request or does not answer."""

    def __init__(self, message: str, *, passing: bool = False, answered: bool = True) -> None:
        """``passing`` is true when a retry may succeed; ``answered`` is false when no server was reached."""
        super().__init__(message)
        self.passing, self.answered = passing, answered
