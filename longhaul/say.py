"""Lines about what the command itself does; they go to stderr, so that what a program reads stays clean."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """One line for people."""
    print(f"longhaul: {line}", file=sys.stderr, flush=True)
