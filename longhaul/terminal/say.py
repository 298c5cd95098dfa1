"""Lines about the command's own work, on stderr so that stdout stays clean for programs; and its questions."""

from __future__ import annotations

import sys

from longhaul.terminal.printable import printable


def say(line: str) -> None:
    """Print one line for people, in one write: phases that run side by side share the terminal."""
    sys.stderr.write(f"longhaul: {printable(line)}\n")
    sys.stderr.flush()


def ask(question: str) -> str:
    """Return the answer to a question, without surrounding blanks; empty when the input ends, as with Ctrl-D."""
    try:
        return input(question).strip()
    except EOFError:
        print()
        return ""
