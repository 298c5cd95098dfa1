"""Talking to the resource manager, with Azure's own credential library."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import Any

ENDPOINT = "https://management.azure.com"
HOLD_S = 5
"""How long an operation's status is held back by a server that can (``Prefer: wait``), instead of asking again."""


class ApiError(Exception):
    """A refusal of the resource manager."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"Code={code!r} Message={message!r} (HTTP {status})")
        self.status = status
        self.code = code


class CancelledError(Exception):
    """The engine asked to stop."""


class Client:
    """One authenticated connection pool; safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._session: Any = None
        self._credential: Any = None
        self.cancelled = threading.Event()

    @property
    def subscription(self) -> str:
        """The subscription to work in."""
        found = os.environ.get("ARM_SUBSCRIPTION_ID") or os.environ.get("AZURE_SUBSCRIPTION_ID")
        if not found:
            raise ApiError(
                0, "NoSubscription", "ARM_SUBSCRIPTION_ID is not set: run inside the lab, or name a subscription"
            )
        return found

    def get(self, resource_id: str, *, api_version: str) -> dict[str, Any] | None:
        """A resource, or ``None`` when it is not there."""
        response = self._send("GET", f"{ENDPOINT}{resource_id}", {"api-version": api_version})
        if response.status_code == 404:
            return None
        return _checked(response)

    def put(self, resource_id: str, body: dict[str, Any], *, api_version: str) -> Any:
        """Create or replace; returns the raw answer, whose operation :meth:`finish` waits for."""
        response = self._send("PUT", f"{ENDPOINT}{resource_id}", {"api-version": api_version}, body)
        _checked(response)
        return response

    def delete(self, resource_id: str, *, api_version: str, timeout_s: float) -> None:
        """Delete and wait until it is gone; nothing happens when it was not there."""
        response = self._send("DELETE", f"{ENDPOINT}{resource_id}", {"api-version": api_version})
        if response.status_code != 404:
            _checked(response)
            self.finish(response, timeout_s=timeout_s)

    def finish(self, response: Any, *, timeout_s: float) -> None:
        """Wait for the operation that an answer started, if it started one.

        Raises:
            ApiError: the operation failed, or took longer than ``timeout_s``.
            CancelledError: the engine asked to stop.
        """
        status_url = response.headers.get("Azure-AsyncOperation")
        url = status_url or (response.headers.get("Location") if response.status_code == 202 else None)
        deadline = time.monotonic() + timeout_s
        while url:
            if self.cancelled.is_set():
                raise CancelledError("the engine asked to stop while an operation was under way")
            if time.monotonic() > deadline:
                raise ApiError(0, "Timeout", f"the operation was not finished after {timeout_s:.0f} s: {url}")
            answer = self._send("GET", url, {})
            body = _checked(answer) or {}
            status = body.get("status") if status_url else ("InProgress" if answer.status_code == 202 else "Succeeded")
            if status in ("Failed", "Canceled"):
                error = body.get("error", {})
                raise ApiError(409, error.get("code", str(status)), error.get("message", "the operation failed"))
            if status == "Succeeded":
                return
            if answer.headers.get("Preference-Applied") is None:
                self.cancelled.wait(float(answer.headers.get("Retry-After", 1)))

    def _send(self, method: str, url: str, params: dict[str, str], body: dict[str, Any] | None = None) -> Any:
        session, token = self._ready()
        headers = {"Authorization": f"Bearer {token}", "Prefer": f"wait={HOLD_S}"}
        return session.request(method, url, params=params, json=body, headers=headers, timeout=60 + HOLD_S)

    def _ready(self) -> tuple[Any, str]:
        """The libraries are loaded at the first call that leaves the machine: a preview needs none of them."""
        with self._lock:
            if self._session is None:
                import requests
                from azure.identity import ClientSecretCredential, EnvironmentCredential
                from requests.adapters import HTTPAdapter

                self._session = requests.Session()
                self._session.mount("https://", HTTPAdapter(pool_connections=4, pool_maxsize=64, max_retries=2))
                names = ("ARM_TENANT_ID", "ARM_CLIENT_ID", "ARM_CLIENT_SECRET")
                values = [os.environ.get(name) for name in names]
                if all(values):
                    tenant, client, key = (value or "" for value in values)
                    self._credential = ClientSecretCredential(tenant, client, key)
                else:
                    self._credential = EnvironmentCredential()
            token: str = self._credential.get_token(f"{ENDPOINT}/.default").token
            return self._session, token

    def token(self) -> str:
        """An access token, for reading who we are."""
        return self._ready()[1]


def _checked(response: Any) -> dict[str, Any]:
    if response.status_code < 400:
        found = response.json() if response.content else {}
        return found if isinstance(found, dict) else {}
    try:
        error = response.json().get("error", {})
    except ValueError:
        error = {"code": "Unknown", "message": re.sub(r"\s+", " ", response.text)[:500]}
    raise ApiError(response.status_code, error.get("code", "Unknown"), error.get("message", ""))
