"""Messages for errors that end a command, or a part of one."""

from __future__ import annotations

import os
import sys
import traceback

from longhaul.exits import CommandError, Exit


def report(error: Exception) -> Exit:
    """Print the error. The traceback is shown only with LONGHAUL_DEBUG=1: an unknown message may quote a secret."""
    from components.model import ConfigurationError

    if os.environ.get("LONGHAUL_DEBUG") == "1":
        traceback.print_exception(error)
    if isinstance(error, ConfigurationError):
        print(f"longhaul: {error}", file=sys.stderr)
        return Exit.USAGE
    if isinstance(error, CommandError):
        print(f"longhaul: {error}", file=sys.stderr)
        return error.code
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        print(f"longhaul: {where}{error.strerror}", file=sys.stderr)
        return Exit.FAILED
    kind = type(error).__name__
    print(f"longhaul: internal error ({kind}); LONGHAUL_DEBUG=1 shows where, please report it", file=sys.stderr)
    return Exit.FAILED
