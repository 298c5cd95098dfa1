"""Questions that are answered by typing a name, before something is done that cannot be taken back."""

from __future__ import annotations

import sys

from longhaul.exits import CommandError, Exit
from longhaul.say import ask


def confirm(question: str, name: str, *, yes: bool = False) -> None:
    """Ask for ``name``; ``CommandError`` when something else is typed, or there is nobody to ask. ``yes`` asks
    nobody."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError("there is no terminal to ask on, so nothing was done: pass --yes", code=Exit.USAGE)
    if ask(question) != name:
        raise CommandError(f"that is not {name!r}; nothing was done", code=Exit.REFUSED)
