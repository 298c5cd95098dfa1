"""Asking Azure's resource manager: GET requests only, page by page, and every error as a reason for no answer.

Formats: learn.microsoft.com, "Azure REST API reference"; each caller names its operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any, Protocol
from urllib.parse import quote

from clouds.azure.session import MANAGEMENT, AzureError, shared
from clouds.base.findings import NotAskedError, RefusedError

RESOURCES_VERSION = "2022-12-01"
"""Of subscriptions, resource groups and providers."""
COMPUTE_VERSION = "2024-07-01"
SKUS_VERSION = "2021-07-01"
NETWORK_VERSION = "2024-05-01"
ZONES_VERSION = "2024-06-01"
"""Of private DNS zones."""

SIGN_IN = "sign in (`az login`), or set AZURE_CLIENT_ID and what belongs to it"


class Asks(Protocol):
    """What authorised requests go through."""

    def request(self, method: str, url: str, *, body: Mapping[str, Any] | None = None) -> Any:
        """One request; ``AzureError`` for anything but success."""


class Azure:
    """The resource manager, for many threads."""

    def __init__(self, session: Asks | None = None, *, root: str = MANAGEMENT) -> None:
        self._given, self._root = session, root
        self._first, self._signed_in = Lock(), False
        self._refusal: AzureError | None = None
        self._skus: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self._skus_locks: dict[tuple[str, str], Lock] = {}

    def get(self, path: str, *, version: str) -> dict[str, Any]:
        """A document; ``NotAskedError`` when it cannot be had, also when it is not there."""
        return self._document(self._url(path, version))

    def find(self, path: str, *, version: str) -> dict[str, Any] | None:
        """A document; None when Azure says that there is no such thing."""
        try:
            return self._document(self._url(path, version), missing=True)
        except _MissingError:
            return None

    def pages(self, path: str, *, version: str, filter: str = "") -> Iterator[dict[str, Any]]:
        """Every entry of a list. A page that is said to be elsewhere is not asked for: it would be given the token."""
        url = self._url(path, version) + (f"&$filter={quote(filter)}" if filter else "")
        while url:
            page = self._document(url)
            yield from page.get("value") or []
            url = page.get("nextLink") or ""
            if url and not url.startswith(f"{self._root}/"):
                raise NotAskedError(f"{path}: its next page is at another address: {url.partition('?')[0]}")

    def skus(self, subscription: str, region: str) -> dict[str, dict[str, Any]]:
        """The machine types that a subscription sees in a region, by name: "Resource Skus - List", asked once."""
        place = (subscription, region)
        with self._first:
            lock = self._skus_locks.setdefault(place, Lock())
        with lock:
            if place not in self._skus:
                path = f"/subscriptions/{subscription}/providers/Microsoft.Compute/skus"
                found = self.pages(path, version=SKUS_VERSION, filter=f"location eq '{region}'")
                self._skus[place] = {
                    str(sku["name"]): sku for sku in found if sku.get("resourceType") == "virtualMachines"
                }
            return self._skus[place]

    def _url(self, path: str, version: str) -> str:
        return f"{self._root}{quote(path)}?api-version={version}"

    def _document(self, url: str, *, missing: bool = False) -> dict[str, Any]:
        place = url.partition("?")[0]
        try:
            content = self._answer(url).json()
        except AzureError as error:
            if missing and error.status == 404:
                raise _MissingError(str(error)) from None
            if error.status == 403:
                raise RefusedError(str(error), do="give whoever runs this the right that Azure names") from None
            raise NotAskedError(str(error), do=SIGN_IN if error.status == 401 else "") from None
        except ValueError:
            raise NotAskedError(f"{place}: the answer is not JSON") from None
        if not isinstance(content, dict):
            raise NotAskedError(f"{place}: the answer is no JSON mapping")
        return content

    def _answer(self, url: str) -> Any:
        """One request. The first goes alone: where nobody is signed in, looking for credentials takes seconds each."""
        with self._first:
            if self._refusal is not None:
                raise self._refusal
            if not self._signed_in:
                return self._begin(url)
        return self._session().request("GET", url)

    def _begin(self, url: str) -> Any:
        try:
            answer = self._session().request("GET", url)
        except AzureError as error:
            if error.status == 401:
                self._refusal = error
                raise
            self._signed_in = error.status != 0
            raise
        self._signed_in = True
        return answer

    def _session(self) -> Asks:
        return self._given or shared(MANAGEMENT)


class _MissingError(NotAskedError):
    """Azure says 404."""


def region_name(text: str) -> str:
    """A region's name of its display name, which some answers give: ``West Europe`` is ``westeurope``."""
    return text.replace(" ", "").lower()
