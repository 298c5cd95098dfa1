"""Azure's resource manager: documents, lists, and operations that take long.

Formats: learn.microsoft.com, "Azure REST API reference"; each caller names its operation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from clouds.azure.errors import AzureError, server_of
from clouds.azure.session import TRIES, RequestSender, shared
from clouds.base.polling_pauses import growing_pauses
from contract.azure import MANAGEMENT

LONGEST_PAUSE_S = 10.0
"""Longest pause between two looks at a running operation, in seconds, even if Azure requests a longer one."""
LOOKS_S = 1.0, 6.0
"""First and longest pause between two looks, in seconds, if Azure requests no longer one. A machine's operations may be
read 45 times, and 15 times more each minute (learn.microsoft.com, "Compute throttling limits", "Get Operation")."""


class ResourceManager:
    """Azure's resource manager: documents and lists by their path. Every method raises :class:`AzureError`."""

    def __init__(
        self,
        session: RequestSender | None = None,
        *,
        root: str = MANAGEMENT,
        prompt: bool = False,
        tries: int = TRIES,
    ) -> None:
        """With ``prompt``, each request is sent once, with short time limits. ``tries`` is the number of repeats after
        an answer with a transient error. Both are ignored when ``session`` is given."""
        self._given, self._root, self._prompt, self._tries = session, root, prompt, tries

    def get(self, path: str, *, version: str, **query: str) -> dict[str, Any]:
        """Return a document. ``query`` holds options of OData, without their ``$``."""
        return self._document(self._url(path, version, query))

    def find(self, path: str, *, version: str, **query: str) -> dict[str, Any] | None:
        """Return a document; None when Azure says that it does not exist."""
        try:
            return self.get(path, version=version, **query)
        except AzureError as error:
            if error.status == 404:
                return None
            raise

    def pages(self, path: str, *, version: str, **query: str) -> Iterator[dict[str, Any]]:
        """Yield every entry of a list, like :meth:`page_by_page`."""
        for page in self.page_by_page(path, version=version, **query):
            yield from page

    def page_by_page(self, path: str, *, version: str, **query: str) -> Iterator[list[dict[str, Any]]]:
        """Yield every page of a list; each page takes one request. Raise ``AzureError`` when an answer has no list, or
        when the next page is on another server, because that server would get the token."""
        url = self._url(path, version, query)
        while url:
            page = self._document(url)
            entries = page.get("value")
            if not isinstance(entries, list):
                # Otherwise an answer without a list would mean that nothing exists any more.
                raise AzureError(f"{path}: the answer holds no list")
            yield entries
            url = page.get("nextLink") or ""
            if url and server_of(url) != server_of(self._root):
                raise AzureError(f"{path}: its next page is at another address: {url.partition('?')[0]}")

    def ask(
        self,
        method: str,
        path: str,
        *,
        version: str,
        body: Mapping[str, Any] | None = None,
        options: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send any other request and return its answer. The request may start an operation; :meth:`finished` waits for
        its end. ``options`` are further query parameters, whose names have no ``$``."""
        more = "".join(f"&{name}={quote(value)}" for name, value in (options or {}).items())
        return self._session.request(method, self._url(path, version, {}) + more, body=body, headers=headers)

    def finished(
        self,
        begun: Any,
        *,
        what: str,
        limit_s: float,
        since: float | None = None,
        long_poll: bool = False,
        wait: Callable[[float], None] = time.sleep,
    ) -> Any:
        """Wait for the operation that the answer ``begun`` has started, and return its last answer
        (learn.microsoft.com, "Track asynchronous Azure operations"). Raise ``AzureError`` when it fails or does not end
        in time.

        ``since`` is the start of the time limit, by the monotonic clock. With ``long_poll``, the server may delay an
        answer until something has changed (RFC 7240, ``Prefer: wait``), so there is no pause between requests.
        """
        until, answer = (time.monotonic() if since is None else since) + limit_s, begun
        location = begun.headers.get("Location", "") if begun.status_code == 202 else ""
        status = "" if location else begun.headers.get("Azure-AsyncOperation", "")
        pauses = growing_pauses(*LOOKS_S)
        while location or status:
            if time.monotonic() > until:
                raise AzureError(f"{what} did not end within {limit_s:.0f} s", code="TimedOut")
            waited = long_poll and (answer is begun or "Preference-Applied" in answer.headers)
            wait(0.0 if waited else max(next(pauses), _requested_pause(answer)))
            answer = self._session.request("GET", location or status)
            if not (_in_progress(answer, what) if status else answer.status_code == 202):
                break
            location = location and answer.headers.get("Location", location)
        return answer

    @property
    def _session(self) -> RequestSender:
        return self._given or shared(prompt=self._prompt, tries=self._tries)

    def _url(self, path: str, version: str, query: Mapping[str, str]) -> str:
        more = "".join(f"&${name}={quote(value)}" for name, value in query.items())
        return f"{self._root}{quote(path)}?api-version={version}{more}"

    def _document(self, url: str) -> dict[str, Any]:
        try:
            content = self._session.request("GET", url).json()
        except ValueError:
            raise AzureError(f"{url.partition('?')[0]}: the answer is not JSON") from None
        if not isinstance(content, dict):
            raise AzureError(f"{url.partition('?')[0]}: the answer is no JSON mapping")
        return content


def _requested_pause(answer: Any) -> float:
    return min(float(answer.headers.get("Retry-After", 0)), LONGEST_PAUSE_S)


def _in_progress(answer: Any, what: str) -> bool:
    """Return whether an operation has not ended yet. Raise ``AzureError`` when it has failed."""
    body = answer.json() if answer.content else {}
    state, error = body.get("status"), body.get("error") or {}
    if state in ("Failed", "Canceled"):
        code, text = str(error.get("code", state)), str(error.get("message", "the operation failed"))
        raise AzureError(f"{what}: {code}: {text}", status=409, code=code, cloud_message=text)
    return bool(state != "Succeeded")
