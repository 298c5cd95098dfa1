"""Client of the resource manager that behaves like Pulumi's plugin: it uses the plugin's credentials and its wording of
refusals, and ends when the engine asks to stop."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clouds.azure.errors import AzureError
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.session import AzureSession
from contract.azure import MANAGEMENT

HOLD_S = 5
"""Seconds for which a server with support for ``Prefer: wait`` delays the answer about an operation, which saves
requests."""


STATUS_TRIES = 0
"""Number of repeats after a transient error of Azure. The real plugin repeats 429, and 409 AnotherOperationInProgress,
three times in 200 seconds (pulumi-azure-native, provider/pkg/azure/client_azcore.go). A program that relies on these
repeats fails as soon as an operation takes longer, so in the lab it fails at once."""


class ResourceManagerError(Exception):
    """A refusal by the resource manager."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"Code={code!r} Message={message!r} (HTTP {status})")
        self.status = status
        self.code = code


class OperationCancelledError(Exception):
    """Raised when the engine asked to stop."""


class ResourceManagerClient:
    """One identity at the resource manager; safe for many threads."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self._session = AzureSession(
            MANAGEMENT, credential=_credential, headers={"Prefer": f"wait={HOLD_S}"}, tries=STATUS_TRIES
        )
        self._manager = ResourceManager(self._session)

    @property
    def subscription(self) -> str:
        """Id of the subscription to work in."""
        subscription_id = os.environ.get("ARM_SUBSCRIPTION_ID") or os.environ.get("AZURE_SUBSCRIPTION_ID")
        if not subscription_id:
            raise ResourceManagerError(
                0, "NoSubscription", "ARM_SUBSCRIPTION_ID is not set: run inside the lab, or name a subscription"
            )
        return subscription_id

    def get(self, resource_id: str, *, api_version: str) -> dict[str, Any] | None:
        """Return a resource, or ``None`` when it does not exist."""
        with _manager_errors():
            return self._manager.find(resource_id, version=api_version)

    def put(self, resource_id: str, body: dict[str, Any], *, api_version: str) -> Any:
        """Create or replace a resource; return the raw answer, for :meth:`finish`."""
        with _manager_errors():
            return self._manager.ask("PUT", resource_id, version=api_version, body=body)

    def delete(self, resource_id: str, *, api_version: str, timeout_s: float) -> None:
        """Delete a resource, and wait until it is gone; do nothing when it does not exist."""
        with _manager_errors():
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
            ResourceManagerError: the operation failed, or took longer than ``timeout_s``.
            OperationCancelledError: the engine asked to stop.
        """
        with _manager_errors():
            self._manager.finished(begun, what="the operation", limit_s=timeout_s, long_poll=True, wait=self._wait)

    def token(self) -> str:
        """Return an access token; its claims tell the caller's identity."""
        return self._session.token()

    def _wait(self, seconds: float) -> None:
        if self.cancelled.wait(seconds):
            raise OperationCancelledError("the engine asked to stop while an operation was under way")


def _credential() -> Any:
    from azure.identity import ClientSecretCredential, EnvironmentCredential

    values = [os.environ.get(name, "") for name in ("ARM_TENANT_ID", "ARM_CLIENT_ID", "ARM_CLIENT_SECRET")]
    return ClientSecretCredential(*values) if all(values) else EnvironmentCredential()


@contextmanager
def _manager_errors() -> Iterator[None]:
    """Turn the manager's errors into :class:`ResourceManagerError`."""
    try:
        yield
    except AzureError as error:
        raise ResourceManagerError(error.status, error.code or "Unknown", error.cloud_message or str(error)) from None
