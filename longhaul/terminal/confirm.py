"""The confirmation before an operation that is irreversible or interrupts other people."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import ask, say


def confirm(lines: Iterable[str], *, what: str, name: str, noun: str, yes: bool) -> None:
    """Print what will be done, and ask for the name of the ``noun``. Raise ``CommandError`` when the name is not
    entered, or when there is no terminal to ask on. With ``yes``, do not ask."""
    for line in lines:
        say(line)
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("there is no terminal to ask on, so nothing was done: pass --yes", code=Exit.USAGE)
    if ask(f"Type the {noun}'s name to {what}: ") != name:
        raise CommandError(f"that is not {name!r}; nothing was done", code=Exit.REFUSED)


def require_consent(*, yes: bool) -> None:
    """Refuse to go on without ``--yes`` when there is no terminal for a question."""
    if not yes and not sys.stdin.isatty():
        raise CommandError("there is no terminal to ask on: pass --yes", code=Exit.USAGE)
