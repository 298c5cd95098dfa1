"""Lines about what the command itself does. They go to stderr, so that stdout stays clean for programs."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Print one line for people, in one write: phases that run side by side share the terminal."""
    sys.stderr.write(f"longhaul: {line}\n")
    sys.stderr.flush()
