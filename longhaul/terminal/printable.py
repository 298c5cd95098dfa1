"""Makes text of others, such as a node's, a host's or a cloud's, fit for a terminal, which its author could steer."""

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
"""Substitutes of one character for one, so that columns stay aligned."""


def printable(text: str, *, unicode: bool = True) -> str:
    """Return ``text``, of one line or more, without control characters. When the reader has no UTF-8, the text is plain
    ASCII."""
    shown = "\n".join(map(one_line, text.split("\n")))
    return shown if unicode else shown.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def one_line(text: str) -> str:
    """Return ``text`` as one line without control characters, so that it can forge no row of a table."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " if each.isspace() else "?" for each in text)
