"""HTTP requests to the services of clouds that verify proofs."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from contract.json_object import json_object

TIMEOUT_S = 20.0

LARGEST = 64 * 2**20
"""Largest size of one answer in bytes. A page of 1,000 EC2 instances has about 6 MB."""


BROKEN = (OSError, http.client.HTTPException)
"""Exceptions from a broken connection. An answer that is cut short or is not HTTP raises an ``HTTPException``."""


class SourceError(Exception):
    """Raised if a source gives no answer, an incomplete answer, or an answer that cannot be used."""


class AnswerError(SourceError):
    """Raised if a server answers with an error. ``status`` is the HTTP status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Stay(urllib.request.HTTPRedirectHandler):
    """Handler that does not follow redirections, because requests are meant only for the named host."""

    def redirect_request(self, *_: Any) -> None:
        """Return None, so that a redirection becomes an error answer."""


def fetch(
    url: str, *, what: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> bytes:
    """Send a request and return the answer. Raise ``AnswerError`` if the server answers with an error, and
    ``SourceError`` after any other failure. The message begins with ``what``, the name of the requested document."""
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
    """Return the answer as a JSON object. Raise ``SourceError`` like :func:`fetch`, or if the answer is anything
    else."""
    try:
        return json_object(fetch(url, what=what, headers=headers))
    except ValueError as error:
        raise SourceError(f"{what}: the answer is not a JSON object: {error}") from None
