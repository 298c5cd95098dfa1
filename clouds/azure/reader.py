"""Reads from Azure's resource manager: GET requests only, page by page. Every error becomes a ``NotAskedError``.

Formats: learn.microsoft.com, "Azure REST API reference"; each caller names its operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any

from clouds.azure.errors import AzureError
from clouds.azure.resource_manager import ResourceManager
from clouds.azure.session import RequestSender, shared
from clouds.azure.versions import SKUS_VERSION
from clouds.base.findings import NotAllowedError, NotAskedError
from contract.azure import MANAGEMENT

SIGN_IN = "sign in (`az login`), or set AZURE_CLIENT_ID and its credentials"


class AzureReader:
    """Reader of the resource manager; safe for several threads."""

    def __init__(self, session: RequestSender | None = None, *, root: str = MANAGEMENT) -> None:
        self._manager = ResourceManager(_OneFirst(session), root=root)
        self._lock = Lock()
        self._skus: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._skus_locks: dict[tuple[str, str], Lock] = {}

    def get(self, path: str, *, version: str) -> dict[str, Any]:
        """Return a document. Raise ``NotAskedError`` when it cannot be read or does not exist."""
        with _asked():
            return self._manager.get(path, version=version)

    def find(self, path: str, *, version: str) -> dict[str, Any] | None:
        """Return a document; None when Azure says that it does not exist."""
        with _asked():
            return self._manager.find(path, version=version)

    def pages(self, path: str, *, version: str, filter: str = "") -> Iterator[dict[str, Any]]:
        """Yield every entry of a list."""
        with _asked():
            yield from self._manager.pages(path, version=version, **({"filter": filter} if filter else {}))

    def skus(self, subscription: str, region: str, *, of: str = "virtualMachines") -> dict[str, dict[str, Any]]:
        """Return the machine types that a subscription sees in a region, by name. ``of`` selects another resource type,
        such as ``disks``. "Resource Skus - List" is requested once for all types."""
        place = (subscription, region)
        with self._lock:
            lock = self._skus_locks.setdefault(place, Lock())
        with lock:
            if place not in self._skus:
                path = f"/subscriptions/{subscription}/providers/Microsoft.Compute/skus"
                entries = self.pages(path, version=SKUS_VERSION, filter=f"location eq '{region}'")
                self._skus[place] = list(entries)
            return {str(sku["name"]): sku for sku in self._skus[place] if sku.get("resourceType") == of}


class _OneFirst:
    """Sender that sends its first request alone. If credentials are missing, only that request searches for them, which
    takes seconds."""

    def __init__(self, given: RequestSender | None) -> None:
        self._given, self._first, self._signed_in = given, Lock(), False
        self._refusal: AzureError | None = None

    def request(
        self, method: str, url: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """Send one request. Raise ``AzureError`` for any answer but success."""
        with self._first:
            if self._refusal is not None:
                raise self._refusal
            if not self._signed_in:
                return self._begin(method, url, body, headers)
        return self._session().request(method, url, body=body, headers=headers)

    def _begin(self, method: str, url: str, body: Mapping[str, Any] | None, headers: Mapping[str, str] | None) -> Any:
        try:
            answer = self._session().request(method, url, body=body, headers=headers)
        except AzureError as error:
            if error.status == 401:
                self._refusal = error
                raise
            self._signed_in = error.status != 0
            raise
        self._signed_in = True
        return answer

    def _session(self) -> RequestSender:
        return self._given or shared()


@contextmanager
def _asked() -> Iterator[None]:
    """Turn the resource manager's errors into ``NotAskedError``."""
    try:
        yield
    except AzureError as error:
        if error.status == 403:
            raise NotAllowedError(str(error), do="grant the caller the right that Azure names") from None
        raise NotAskedError(str(error), do=SIGN_IN if error.status == 401 else "") from None


def region_name(text: str) -> str:
    """Return a region's name for its display name, which some answers contain: ``westeurope`` for ``West Europe``."""
    return text.replace(" ", "").lower()
