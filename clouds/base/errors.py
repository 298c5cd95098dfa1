"""Errors of requests to a cloud."""

from __future__ import annotations


class CloudError(Exception):
    """Raised when a cloud refuses a request or does not answer."""

    def __init__(
        self,
        message: str,
        *,
        passing: bool = False,
        answered: bool = True,
        code: str = "",
        busy: bool = False,
        absent: bool = False,
    ) -> None:
        """``passing`` is true when a retry may succeed; ``answered`` is false when no server was reached. ``code`` is
        the cloud's error code, empty without one. ``busy`` is true when the cloud has too many requests, or the machine
        is running another command, so that the answer says nothing about the machine. ``absent`` is true when the
        requested resource does not exist."""
        super().__init__(message)
        self.passing, self.answered, self.code, self.busy, self.absent = passing, answered, code, busy, absent
