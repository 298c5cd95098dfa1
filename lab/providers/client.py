"""Talking to the resource manager as Pulumi's plugin does: with its credentials, in its words of a refusal, and no
longer than the engine wants."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clouds.azure.session import MANAGEMENT, AzureError, ResourceManager, Session

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
    """One identity at the resource manager; safe for many threads."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self._session = Session(MANAGEMENT, credential=_credential, headers={"Prefer": f"wait={HOLD_S}"})
        self._manager = ResourceManager(self._session)

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
        with _told():
            return self._manager.find(resource_id, version=api_version)

    def put(self, resource_id: str, body: dict[str, Any], *, api_version: str) -> Any:
        """Create or replace; returns the raw answer, whose operation :meth:`finish` waits for."""
        with _told():
            return self._manager.ask("PUT", resource_id, version=api_version, body=body)

    def delete(self, resource_id: str, *, api_version: str, timeout_s: float) -> None:
        """Delete and wait until it is gone; nothing happens when it was not there."""
        with _told():
            try:
                begun = self._manager.ask("DELETE", resource_id, version=api_version)
            except AzureError as error:
                if error.status == 404:
                    return
                raise
        self.finish(begun, timeout_s=timeout_s)

    def finish(self, begun: Any, *, timeout_s: float) -> None:
        """Wait for the operation that an answer started, if it started one.

        Raises:
            ApiError: the operation failed, or took longer than ``timeout_s``.
            CancelledError: the engine asked to stop.
        """
        with _told():
            self._manager.finished(begun, what="the operation", limit_s=timeout_s, held=True, wait=self._wait)

    def token(self) -> str:
        """An access token, for reading who we are."""
        return self._session.token()

    def _wait(self, seconds: float) -> None:
        if self.cancelled.wait(seconds):
            raise CancelledError("the engine asked to stop while an operation was under way")


def _credential() -> Any:
    from azure.identity import ClientSecretCredential, EnvironmentCredential

    values = [os.environ.get(name, "") for name in ("ARM_TENANT_ID", "ARM_CLIENT_ID", "ARM_CLIENT_SECRET")]
    return ClientSecretCredential(*values) if all(values) else EnvironmentCredential()


@contextmanager
def _told() -> Iterator[None]:
    """Turn what the manager raises into :class:`ApiError`."""
    try:
        yield
    except AzureError as error:
        raise ApiError(error.status, error.code or "Unknown", error.said or str(error)) from None
