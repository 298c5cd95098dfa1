"""Exit codes and the error that carries them. The meaning of each code is defined here only."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done, and everything is healthy",
    Exit.FAILED: "the operation failed or was refused, or the environment is not healthy",
    Exit.USAGE: "wrong usage, or an unusable environment file; nothing was done",
    Exit.UNREACHABLE: "the environment cannot be reached, or its lab is down",
    Exit.REFUSED: "refused: the change must not be applied (plan, review), or nothing was done",
    Exit.INTERRUPTED: "interrupted",
}
"""Meanings for ``--help``, equal for every command."""

_REFUSALS = {
    "plan": "refused: the change must not be applied, since it loses something irrecoverable or breaks a policy",
    "up": "refused: nothing was done, since `longhaul plan` would refuse it",
    "review": "refused: the change must not be merged, since a plan is refused or a file is wrong",
    "restore": "refused: nothing was done, since nothing is lost or a machine does not answer",
    "rotate": "refused: nothing was done, since a restore is incomplete",
    "destroy": "refused: nothing was done, since machines are kept in quarantine",
    "machine": "refused: nothing was done, since a restore is incomplete, or a host's certificate may still be valid",
    "access": "refused: nothing was done, since the person's name was not typed",
    "acceptance": "refused: nothing was done, since the limits do not allow it or the existing resources do not fit",
}
"""Meaning of :attr:`Exit.REFUSED`, for each command that may return it."""


class CommandError(Exception):
    """Ends the command with an exit code and a message, which says what is wrong and what to do."""

    def __init__(self, message: str, *, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


def help_text(command: str | None = None) -> str:
    """Return the exit codes for ``--help``: all codes, or the codes that ``command`` may return."""
    return "exit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in meanings(command).items())


def meanings(command: str | None = None) -> dict[Exit, str]:
    """Return the meaning of each code, for all commands or for ``command``."""
    if command is None:
        return dict(MEANINGS)
    by_code = {**MEANINGS, Exit.REFUSED: _REFUSALS.get(command, "")}
    return {code: meaning for code, meaning in by_code.items() if meaning}
