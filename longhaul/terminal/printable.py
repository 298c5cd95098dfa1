"""Makes text from nodes, hosts and clouds safe for a terminal: control characters in the text could steer the
terminal."""

from __future__ import annotations

_ASCII = str.maketrans(
    {
        **dict.fromkeys("┌┐└┘├┤┬┴┏┓┳", "+"),
        **dict.fromkeys("─┄", "-"),
        **dict.fromkeys("│┆", "|"),
        "━": "=",
        "┃": "#",
        "║": "#",
        "×": "x",
        "…": "~",
    }
)
"""ASCII substitutes, one character for one, so that columns stay aligned."""


def printable(text: str, *, unicode: bool = True) -> str:
    """Return ``text``, which may have several lines, without control characters; in plain ASCII unless ``unicode``."""
    shown = "\n".join(map(one_line, text.split("\n")))
    return shown if unicode else shown.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def one_line(text: str) -> str:
    """Return ``text`` as one line without control characters, so that it cannot forge a row of a table."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " if each.isspace() else "?" for each in text)
