"""The error of unreadable texts."""

from __future__ import annotations


class DocumentError(Exception):
    """Raised when the text is not a document that can be read; ``line`` counts from 1."""

    def __init__(self, wrong: str, write: str, line: int | None = None) -> None:
        super().__init__(wrong)
        self.wrong, self.write, self.line = wrong, write, line
