"""Errors of asking a cloud."""

from __future__ import annotations


class CloudError(Exception):
    """A cloud refused or did not answer."""

    def __init__(self, message: str, *, passing: bool = False, answered: bool = True) -> None:
        """``passing``: it may be otherwise in a moment; ``answered`` is false where nobody was reached."""
        super().__init__(message)
        self.passing, self.answered = passing, answered
