"""Token of a machine's identity, which one program gives to another through a socket."""

from __future__ import annotations

import json


class NoTokenError(Exception):
    """Raised if the socket gives no token. The message says why."""


def to_text(token: str, until: float) -> str:
    """Return the answer with a token and with the end of the token's validity, in seconds since the epoch."""
    return json.dumps({"token": token, "until": until})


def error_text(error: str) -> str:
    """Return the answer of a program that has no token."""
    return json.dumps({"error": error})


def of_text(text: str) -> tuple[str, float]:
    """Return the token in an answer, and the end of its validity. Raise :class:`NoTokenError` with the other program's
    message if that program has no token. Raise ``KeyError``, ``TypeError`` or ``ValueError`` if the text is not an
    answer."""
    answer = json.loads(text)
    if "error" in answer:
        raise NoTokenError(answer["error"])
    return str(answer["token"]), float(answer["until"])
