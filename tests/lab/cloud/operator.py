"""The operator's requests to Azure, sent to the lab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from clouds.azure.errors import refusal
from tests.lab.cloud.conftest import Live


class Operator:
    """The operator's requests, sent to the lab."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.asked: list[tuple[str, str]] = []

    def request(
        self, method: str, url: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        parts = urlsplit(url)
        self.asked.append((method, f"{parts.path.rpartition('/')[2]}?{parts.query}"))
        answer = self._live.arm(method, parts.path, body, headers=headers, **dict(parse_qsl(parts.query)))
        if answer.status_code >= 400:
            raise refusal(
                f"{method} {parts.path}",
                answer.json()["error"],
                status=answer.status_code,
                reason=answer.reason,
                headers=answer.headers,
            )
        return answer
