"""Errors of asking a cloud."""

from __future__ import annotations


class CloudError(Exception):
    """A cloud refused or did not answer; ``passing`` says whether it may be otherwise in a moment."""

    def __init__(self, message: str, *, passing: bool = False) -> None:
        super().__init__(message)
        self.passing = passing
