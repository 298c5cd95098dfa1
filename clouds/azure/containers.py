"""Retention of blob containers, by Azure's resource manager."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clouds.azure.errors import AzureError
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.roles import DESTROYER
from clouds.azure.session import AzureSession
from clouds.azure.versions import STORAGE_VERSION
from contract.azure import MANAGEMENT


def retain(container: str, *, days: int) -> None:
    """Protect every blob of the container with this id from change and deletion until the blob is ``days`` days old.
    Raise ``AzureError`` when Azure refuses."""
    body = {"properties": {"immutabilityPeriodSinceCreationInDays": days, "allowProtectedAppendWrites": False}}
    with _needs_destroyer():
        ResourceManager().ask("PUT", _policy(container), version=STORAGE_VERSION, body=body)


def retained(container: str) -> bool:
    """Return whether a container has a retention. Raise ``AzureError``."""
    return _find_policy(container) is not None


def end_retention(container: str) -> None:
    """End the retention of a container; do nothing when it has none. Raise ``AzureError`` when it is locked."""
    policy = _find_policy(container)
    if policy is None:
        return
    exactly = ResourceManager(AzureSession(MANAGEMENT, headers={"If-Match": str(policy.get("etag", ""))}))
    try:
        with _needs_destroyer():
            exactly.ask("DELETE", _policy(container), version=STORAGE_VERSION)
    except AzureError as error:
        if error.status != 404:
            raise


@contextmanager
def _needs_destroyer() -> Iterator[None]:
    """Name the role that a refused change of a retention needs."""
    try:
        yield
    except AzureError as error:
        if error.status != 403:
            raise
        needs = f"a backups' retention is set and ended with the role {DESTROYER} (docs/getting-started.md)"
        raise AzureError(f"{error}; {needs}", status=403, code=error.code, cloud_message=error.cloud_message) from error


def _find_policy(container: str) -> dict[str, Any] | None:
    policy = ResourceManager().find(_policy(container), version=STORAGE_VERSION)
    # For a container without a retention, Azure returns a policy of 0 days.
    if policy is None or not policy.get("properties", {}).get("immutabilityPeriodSinceCreationInDays"):
        return None
    return policy


def _policy(container: str) -> str:
    return f"{container}/immutabilityPolicies/default"
