"""Authorised requests to Azure, and its resource manager. Credentials come from the default chain of
``azure-identity``: environment variables, workload identity, managed identity, the Azure CLI.

Formats: learn.microsoft.com, "Azure REST API reference"; each caller names its operation. No SDK is loaded before the
first request.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlsplit

from clouds.azure.refusals import refuses_machines
from clouds.azure.tokens import KeptTokens, default_credential
from clouds.base.errors import CloudError
from clouds.base.locked_cache import locked_cache
from contract.azure import MANAGEMENT

if TYPE_CHECKING:
    from azure.core import PipelineClient
    from azure.core.pipeline.policies import RetryPolicy
    from azure.core.pipeline.transport import RequestsTransport
    from azure.core.rest import HttpResponse

TIMEOUT_S = 60.0
"""Time limit of one request, seconds."""
PROMPT_CONNECT_S, PROMPT_READ_S = 2.0, 5.0
"""The same for the requests of a write that must not arrive late: two of them within the 15 s of a lease
(contract/kubernetes/election.py)."""
METHODS = frozenset(("GET", "PUT", "DELETE", "PATCH", "POST"))
"""Methods whose requests are repeated after a transient error."""
TRIES = 5
"""Number of repeats of one request; the pauses between them double."""
BUSY = "Conflict"
"""Error code with which Azure refuses a run command while another one runs on the machine (learn.microsoft.com, "Run
scripts in your Linux VM by using action Run Commands": one at a time; Azure/azure-cli issue 32305 shows the answer)."""
TOO_MANY, NOT_THERE = 429, 404
"""Status codes for too many requests, and for something that does not exist."""

PASSING = (0, 408, 409, 412, 429, 500, 502, 503, 504)
"""Status codes after which a later try may succeed: those of azure-core's ``RetryPolicy``; 409, which means another
operation on the same resource unless its message refuses machines; and 412, which means that somebody else has changed
the resource meanwhile."""
CONNECTIONS = 64
"""Largest number of simultaneous connections to one host."""
LONGEST_PAUSE_S = 10.0
"""Longest pause between two looks at a running operation, in seconds, even if Azure requests a longer one."""


class AzureError(CloudError):
    """Raised when Azure refuses a request or does not answer. The message says which resource, and what to do where
    that is known."""

    def __init__(self, message: str, *, status: int = 0, code: str = "", cloud_message: str = "") -> None:
        """``status`` is 0 when there was no answer; ``code`` and ``cloud_message`` are Azure's own words, which are
        empty when there was no credential to ask with."""
        passing = status in PASSING and not (status == 409 and refuses_machines(code, cloud_message))
        super().__init__(
            message,
            passing=passing,
            answered=status != 0,
            code=code,
            busy=status == TOO_MANY or code == BUSY,
            absent=status == NOT_THERE,
        )
        self.status, self.cloud_message = status, cloud_message


class RequestSender(Protocol):
    """Sender of authorised requests."""

    def request(
        self, method: str, url: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """Send one request, with ``headers`` of its own. Raise ``AzureError`` for any answer but success."""


class AzureSession:
    """Authorised requests to one audience."""

    def __init__(
        self,
        audience: str,
        *,
        credential: Callable[[], Any] | None = None,
        headers: Mapping[str, str] | None = None,
        tries: int = TRIES,
        prompt: bool = False,
    ) -> None:
        """``credential`` returns a credential of azure-identity at the first request; ``headers`` go with each request;
        ``tries`` is the number of repeats after an answer with an error that passes. ``prompt``: a request is sent
        once, and given up soon."""
        self._audience, self._tries, self._prompt = audience, tries, prompt
        self._made = credential or kept_credential
        self._headers = dict(headers or {})

    @cached_property
    def _client(self) -> PipelineClient[Any, Any]:
        from azure.core import PipelineClient

        if self._prompt:
            sent_once = transport(connect_s=PROMPT_CONNECT_S, read_s=PROMPT_READ_S)
            return PipelineClient(self._audience, policies=[retries(0, connections=0)], transport=sent_once)
        return PipelineClient(self._audience, policies=[retries(self._tries)], transport=transport())

    @cached_property
    def _credential(self) -> Any:
        return self._made()

    def request(
        self, method: str, url: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        """Send one request, with ``headers`` of its own. Raise ``AzureError`` for any answer but success."""
        from azure.core.rest import HttpRequest

        with azure_errors(f"{method} {url.split('?', maxsplit=1)[0]}"):
            sent = {**self._headers, **(headers or {}), "Authorization": f"Bearer {self.token()}"}
            request = HttpRequest(method, url, json=body, headers=sent)
            # A POST may be repeated: starts, restarts, sizes, and commands that only read.
            answer: HttpResponse = self._client.send_request(request, retry_on_methods=METHODS)
            answer.raise_for_status()
        return answer

    def fetch(self, url: str, to: Path) -> None:
        """Write the content at ``url``, which may be large, to a file. Raise ``AzureError`` on any failure, including
        an interrupted download."""
        from azure.core.rest import HttpRequest

        with azure_errors(f"GET {url.split('?', maxsplit=1)[0]}"):
            headers = {**self._headers, "Authorization": f"Bearer {self.token()}"}
            answer: HttpResponse = self._client.send_request(HttpRequest("GET", url, headers=headers), stream=True)
            with answer, to.open("wb") as file:
                if answer.status_code >= 400:
                    answer.read()
                answer.raise_for_status()
                for chunk in answer.iter_bytes():
                    file.write(chunk)

    def token(self) -> str:
        """Return a bearer token. Raise azure-identity's own errors."""
        return str(self._credential.get_token(f"{self._audience}/.default").token)


def retries(tries: int = TRIES, *, connections: int = TRIES) -> RetryPolicy[Any, Any]:
    """Return the policy for repeating a request when its connection fails, or Azure is too busy. The repeats take half
    a minute in all, so that one such failure does not end a wait of ten minutes. ``tries`` is the number of repeats
    after an answer, ``connections`` the number after a failed connection."""
    from azure.core.pipeline.policies import RetryPolicy

    return RetryPolicy(
        retry_total=TRIES,
        retry_connect=connections,
        retry_read=connections,
        retry_status=tries,
        retry_backoff_factor=1,
    )


def transport(*, connect_s: float = TIMEOUT_S, read_s: float = TIMEOUT_S) -> RequestsTransport:
    """Return the SDK's transport, with connections for many threads."""
    import requests
    from azure.core.pipeline.transport import RequestsTransport

    session = requests.Session()
    session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=CONNECTIONS))
    return RequestsTransport(session=session, connection_timeout=connect_s, read_timeout=read_s)


@contextmanager
def azure_errors(what: str, *, server: str = "") -> Iterator[None]:
    """Turn the SDK's errors into :class:`AzureError`, whose message says ``what`` was requested. A 401 from ``server``
    is a refusal by that server; any other 401 means that no credentials were found."""
    from azure.core.exceptions import AzureError as CoreError
    from azure.core.exceptions import ClientAuthenticationError

    try:
        yield
    except ClientAuthenticationError as error:
        answer: Any = error.response
        if server and answer is not None and _server(answer.request.url) == _server(server):
            raise _refusal(what, answer) from None
        reason = str(error).splitlines()[0]
        message = f"no Azure credential works: {reason} Sign in with `az login` or set AZURE_*."
        raise AzureError(message, status=401) from error
    except CoreError as error:
        answer = getattr(error, "response", None)
        if answer is None:
            raise AzureError(f"{what}: no answer: {type(error).__name__}") from error
        raise _refusal(what, answer) from None


def _refusal(what: str, answer: Any) -> AzureError:
    try:
        error = answer.json().get("error", {})
    except ValueError:
        error = {}
    inner = (error.get("innererror") or {}).get("code")
    code, text = str(inner or error.get("code") or answer.status_code), str(error.get("message", answer.reason))
    return AzureError(f"{what}: {code}: {text}", status=answer.status_code, code=code, cloud_message=text)


def shared() -> AzureSession:
    """Return one session with the resource manager for all callers with the same credentials. Signing in and opening
    connections take far longer than a request, and an environment has dozens of machines."""
    return _shared(credentials())


def kept_credential() -> KeptTokens:
    """Return one credential for all callers with the same environment variables, so that they share its tokens."""
    return _kept(credentials())


@locked_cache
def _kept(_credentials: tuple[str | None, ...]) -> KeptTokens:
    return default_credential()


@locked_cache
def _shared(_credentials: tuple[str | None, ...]) -> AzureSession:
    return AzureSession(MANAGEMENT)


@locked_cache
def _prompt(_credentials: tuple[str | None, ...]) -> AzureSession:
    return AzureSession(MANAGEMENT, prompt=True)


def credentials() -> tuple[str | None, ...]:
    """Return the environment variables that determine the credentials, which may change while a program runs."""
    return tuple(os.environ.get(f"AZURE_{name}") for name in ("TENANT_ID", "CLIENT_ID", "CLIENT_SECRET"))


class ResourceManager:
    """Azure's resource manager: documents and lists by their path. Every method raises :class:`AzureError`."""

    def __init__(self, session: RequestSender | None = None, *, root: str = MANAGEMENT, prompt: bool = False) -> None:
        """With ``prompt``, each request is sent once, with short time limits; it excludes ``session``."""
        self._given, self._root, self._prompt = session, root, prompt

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
        """Yield every entry of a list. Raise ``AzureError`` when an answer holds none, and when the next page is on
        another server, because the token would be sent to it."""
        url = self._url(path, version, query)
        while url:
            page = self._document(url)
            entries = page.get("value")
            if not isinstance(entries, list):
                # Without this, an answer that is none would be a list in which nothing exists any more.
                raise AzureError(f"{path}: the answer holds no list")
            yield from entries
            url = page.get("nextLink") or ""
            if url and _server(url) != _server(self._root):
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
        """Send any other request and return its answer. It may start an operation that :meth:`finished` waits for.
        ``options`` are further query parameters, whose names have no ``$``."""
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

        ``since`` is the start of the time limit, by the monotonic clock. ``long_poll``: the server may delay an answer
        until something has changed (RFC 7240, ``Prefer: wait``), so no pause is made here.
        """
        until, answer = (time.monotonic() if since is None else since) + limit_s, begun
        location = begun.headers.get("Location", "") if begun.status_code == 202 else ""
        status = "" if location else begun.headers.get("Azure-AsyncOperation", "")
        while location or status:
            if time.monotonic() > until:
                raise AzureError(f"{what} did not end within {limit_s:.0f} s", code="TimedOut")
            wait(0.0 if long_poll and (answer is begun or "Preference-Applied" in answer.headers) else _pause(answer))
            answer = self._session.request("GET", location or status)
            if not (_in_progress(answer, what) if status else answer.status_code == 202):
                break
            location = location and answer.headers.get("Location", location)
        return answer

    @property
    def _session(self) -> RequestSender:
        return self._given or (_prompt(credentials()) if self._prompt else shared())

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


def _pause(answer: Any) -> float:
    return min(float(answer.headers.get("Retry-After", 1)), LONGEST_PAUSE_S)


def _in_progress(answer: Any, what: str) -> bool:
    """Return whether an operation has not ended yet. Raise ``AzureError`` when it has failed."""
    body = answer.json() if answer.content else {}
    state, error = body.get("status"), body.get("error") or {}
    if state in ("Failed", "Canceled"):
        code, text = str(error.get("code", state)), str(error.get("message", "the operation failed"))
        raise AzureError(f"{what}: {code}: {text}", status=409, code=code, cloud_message=text)
    return bool(state != "Succeeded")


def _server(url: str) -> tuple[str, str | None, int]:
    """Return the server of a URL. Azure writes the port of HTTPS in some of its links."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or 443
