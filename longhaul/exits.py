"""Exit codes and the errors that carry them: the one place that says what a code means."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the command's exit status says."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done, and all is well",
    Exit.FAILED: "the operation failed or was refused, or the environment is not well",
    Exit.USAGE: "wrong usage, or an environment file that cannot be used; nothing was done",
    Exit.UNREACHABLE: "the environment cannot be reached, or its lab is down",
    Exit.REFUSED: "the change must not go in: it loses what cannot be had back, breaks a policy, or a file is wrong",
    Exit.INTERRUPTED: "interrupted",
}
"""For ``--help``."""


class CommandError(Exception):
    """Ends the command with a message for people, which says what is wrong and what to do, and an exit code."""

    def __init__(self, message: str, *, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


def help_text() -> str:
    """The exit codes as ``--help`` shows them."""
    return "exit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())
