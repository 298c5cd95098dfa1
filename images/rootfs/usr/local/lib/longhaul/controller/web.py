"""HTTP to the clouds."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from controller.inventory import SourceError

TIMEOUT_S = 20.0

LARGEST = 64 * 2**20
"""Bytes of one answer: a page of 1,000 EC2 instances has about 6 MB."""


def fetch(
    url: str, *, what: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> bytes:
    """The answer; ``SourceError`` with ``what`` was asked and what came instead."""
    # No proxy: the metadata service must be asked directly, and what is asked holds tokens.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers or {}))  # noqa: S310
    try:
        with opener.open(request, timeout=TIMEOUT_S) as response:
            found = bytes(response.read(LARGEST + 1))
    except urllib.error.HTTPError as error:
        text = error.read(2000).decode(errors="replace")
        raise SourceError(f"{what}: {error.code} {' '.join(text.split())[:400]}") from None
    except OSError as error:
        raise SourceError(f"{what}: {type(error).__name__}: {error}") from None
    if len(found) > LARGEST:
        raise SourceError(f"{what}: an answer of more than {LARGEST} bytes")
    return found


def fetch_json(url: str, *, what: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The answer as a JSON object."""
    try:
        found = json.loads(fetch(url, what=what, headers=headers))
    except ValueError as error:
        raise SourceError(f"{what}: the answer is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise SourceError(f"{what}: the answer is not a JSON object")
    return found
