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
        alone: bool = False,
        retry_s: float = 0.0,
    ) -> None:
        """``passing`` is true when a retry may succeed; ``answered`` is false when no server was reached. ``code`` is
        the cloud's error code, empty without one. ``busy`` is true when the cloud has too many requests, or the machine
        is running another command, so that the answer says nothing about the machine. ``absent`` is true when the
        requested resource does not exist. ``alone`` is true when the cloud has too many requests for this resource
        only, so that requests for other resources may succeed. ``retry_s`` is the time to wait before a retry, in
        seconds, as the cloud requests it; 0 when it requests none."""
        super().__init__(message)
        self.passing, self.answered, self.code, self.busy, self.absent = passing, answered, code, busy, absent
        self.alone, self.retry_s = alone, retry_s
