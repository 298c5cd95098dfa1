"""HTTP requests to what verifies proofs."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from contract.json_object import json_object

TIMEOUT_S = 20.0

LARGEST = 64 * 2**20
"""Largest size of one answer in bytes: a page of 1,000 EC2 instances has about 6 MB."""


BROKEN = (OSError, http.client.HTTPException)
"""Exceptions from a connection that breaks off. An answer that is cut short or is not HTTP raises no ``OSError``."""


class SourceError(Exception):
    """Raised when a source gave no answer, or only part of one."""


class AnswerError(SourceError):
    """Raised when the server answered, but not with the requested document."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Stay(urllib.request.HTTPRedirectHandler):
    """Does not follow redirections: what is sent is meant only for the named host."""

    def redirect_request(self, *_: Any) -> None:
        """Treat a redirection as any other answer."""


def fetch(
    url: str, *, what: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> bytes:
    """Return the answer. ``SourceError`` names ``what`` was asked and what came instead; it is an ``AnswerError`` when
    the server answered with an error."""
    # No proxy: the metadata service must be asked directly, and the requests contain tokens.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay())
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers or {}))  # noqa: S310
    try:
        with opener.open(request, timeout=TIMEOUT_S) as response:
            content = bytes(response.read(LARGEST + 1))
    except urllib.error.HTTPError as error:
        text = _text(error)
        raise AnswerError(error.code, f"{what}: {error.code} {' '.join(text.split())[:400]}") from None
    except BROKEN as error:
        raise SourceError(f"{what}: {type(error).__name__}: {error}") from None
    if len(content) > LARGEST:
        raise SourceError(f"{what}: an answer of more than {LARGEST} bytes")
    return content


def _text(error: urllib.error.HTTPError) -> str:
    """Return the text of an error answer, as far as it arrived."""
    try:
        return error.read(2000).decode(errors="replace")
    except BROKEN as broken:
        return type(broken).__name__


def fetch_json(url: str, *, what: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the answer as a JSON object."""
    try:
        return json_object(fetch(url, what=what, headers=headers))
    except ValueError as error:
        raise SourceError(f"{what}: the answer is not a JSON object: {error}") from None
