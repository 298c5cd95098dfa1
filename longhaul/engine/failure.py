"""Messages for errors that end a command, or a part of one."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from contextlib import suppress

from longhaul.terminal.exits import CommandError, Exit
from longhaul.terminal.say import say


def report(error: Exception, note: Callable[[str], None] | None = None) -> Exit:
    """Print the error, pass its text to ``note``, and return the exit code. The traceback is shown only with
    LONGHAUL_DEBUG=1: an unknown message may quote a secret."""
    text, code = _text_and_exit(error)
    if note is not None:
        note(text)
    # A terminal that hung up must not change the exit code.
    with suppress(OSError):
        if os.environ.get("LONGHAUL_DEBUG") == "1":
            traceback.print_exception(error)
        say(text)
    return code


def _text_and_exit(error: Exception) -> tuple[str, Exit]:
    """Return the text and the exit code for an error."""
    from components.model import ConfigurationError

    if isinstance(error, ConfigurationError):
        return str(error), Exit.USAGE
    if isinstance(error, CommandError):
        return str(error), error.code
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}", Exit.FAILED
    kind = type(error).__name__
    return f"internal error ({kind}); LONGHAUL_DEBUG=1 shows where, please report it", Exit.FAILED
