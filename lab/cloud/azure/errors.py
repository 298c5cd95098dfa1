"""Errors in the resource manager's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class ArmError(Exception):
    """An error answer: HTTP status, Azure's error code, and a message."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        target: str | None = None,
        details: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """``headers`` are further headers of the answer."""
        super().__init__(f"{code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.target = target
        self.details = tuple(details)
        self.headers = dict(headers or {})

    def document(self) -> dict[str, Any]:
        """Return the body: ``{"error": {"code", "message"}}``, with ``target`` and ``details`` where there are any."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.target:
            error["target"] = self.target
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}


def not_found(resource_id: str) -> ArmError:
    """Return 404 for a resource that does not exist."""
    return ArmError(404, "ResourceNotFound", f"The Resource '{_short(resource_id)}' was not found.")


def group_not_found(name: str) -> ArmError:
    """Return 404 for a resource group that does not exist."""
    return ArmError(404, "ResourceGroupNotFound", f"Resource group '{name}' could not be found.")


def invalid(message: str, *, target: str | None = None) -> ArmError:
    """Return 400 for a value that the cloud does not accept."""
    return ArmError(400, "InvalidParameter", message, target=target)


def unsupported(message: str) -> ArmError:
    """Return 400 for a request that Azure may support but the lab does not, so that such a request never succeeds
    silently."""
    return ArmError(400, "NotSupportedByLab", message)


def invalid_reference(resource_id: str, *, by: str) -> ArmError:
    """Return 400 for a reference to a resource that does not exist."""
    return ArmError(
        400,
        "InvalidResourceReference",
        f"Resource {resource_id} referenced by resource {by} was not found. Please make sure that the referenced "
        "resource "
        "exists, and that both resources are in the same region.",
    )


def not_provisioned(resource_id: str, *, by: str, state: str = "Updating") -> ArmError:
    """Return 400 for a reference to a resource whose change is under way."""
    return ArmError(
        400,
        "ReferencedResourceNotProvisioned",
        f"Cannot proceed with operation because resource {resource_id} used by resource {by} is not in Succeeded "
        f"state. Resource is in {state} state.",
    )


def retryable(inner: ArmError) -> ArmError:
    """Return 429 around a transient error (hashicorp/terraform issue 7986, hashicorp/terraform-provider-azurerm issue
    70)."""
    return ArmError(429, "RetryableError", "A retryable error occurred.", details=[inner.document()["error"]])


def change_refused(path: str) -> ArmError:
    """Return 409 for a change that the cloud does not make in place."""
    return ArmError(409, "PropertyChangeNotAllowed", f"Changing property '{path}' is not allowed.", target=path)


def _short(resource_id: str) -> str:
    marker = "/providers/"
    return resource_id.split(marker, 1)[1] if marker in resource_id else resource_id
