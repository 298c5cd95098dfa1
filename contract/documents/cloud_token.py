"""Token of a machine's identity, which one program gives to another through a socket."""

from __future__ import annotations

import json


class NoTokenError(Exception):
    """Raised when the socket gives no token, with the reason."""


def to_text(token: str, until: float) -> str:
    """Return the answer with a token and the end of its validity, in seconds since the epoch."""
    return json.dumps({"token": token, "until": until})


def error_text(error: str) -> str:
    """Return the answer of a program that has no token."""
    return json.dumps({"error": error})


def of_text(text: str) -> tuple[str, float]:
    """Read an answer: the token and the end of its validity. Raise :class:`NoTokenError` with the program's message
    when it has no token, and ``KeyError``, ``TypeError`` or ``ValueError`` when the text is not an answer."""
    answer = json.loads(text)
    if "error" in answer:
        raise NoTokenError(answer["error"])
    return str(answer["token"]), float(answer["until"])
