"""Programs that need root on a person's own machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from longhaul.exits import CommandError


def as_root(command: Sequence[str], *, ask: bool = True) -> list[str]:
    """Return what runs a command as root: itself as root, else with sudo, which asks for a password if it may."""
    if os.geteuid() == 0:
        return list(command)
    if shutil.which("sudo") is None:
        raise CommandError(
            f"{command[0]} needs root, and there is no sudo: run this as root, or write a file for another "
            "program by --write-only"
        )
    return ["sudo", *([] if ask else ["--non-interactive"]), "--", *command]
