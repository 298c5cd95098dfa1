"""Authorised requests to Azure. Credentials come from the default chain of ``azure-identity``: environment variables,
workload identity, managed identity, the Azure CLI. No SDK is loaded before the first request."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clouds.azure.errors import azure_errors
from clouds.azure.tokens import KeptTokens, default_credential
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
"""Time limits of a prompt request, seconds: to connect, and to read. A prompt request is a write that must not arrive
late; two of them fit into the 15 s of a lease (contract/kubernetes/election.py)."""
METHODS = frozenset(("GET", "PUT", "DELETE", "PATCH", "POST"))
"""Methods whose requests are repeated after a transient error."""
TRIES = 5
"""Number of repeats of one request; the pauses between them double."""
CONNECTIONS = 64
"""Largest number of simultaneous connections to one host."""


class RequestSender(Protocol):
    """Sender of authorised requests."""

    def request(
        self, method: str, url: str, *, body: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """Send one request, with further ``headers``. Raise ``AzureError`` unless it succeeds."""


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
        """``credential`` is called at the first request and returns a credential of azure-identity. ``headers`` are
        sent with each request. ``tries`` is the number of repeats after a transient error. With ``prompt``, each
        request is sent once, with short time limits."""
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
        """Send one request, with further ``headers``. Raise ``AzureError`` unless it succeeds."""
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
    """Return the policy that repeats a request after a failed connection, or when Azure is too busy. All repeats take
    half a minute together, so a short failure does not end a wait of ten minutes. ``tries`` is the number of repeats
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


def shared(*, prompt: bool = False, tries: int = TRIES) -> AzureSession:
    """Return the session with the resource manager that all callers with the same credentials share. Signing in and
    opening connections take far longer than a request, and an environment has dozens of machines. ``prompt`` and
    ``tries``: see :class:`AzureSession`."""
    return _shared(credentials(), prompt, tries)


def kept_credential() -> KeptTokens:
    """Return the credential that all callers with the same environment variables share, with its tokens."""
    return _kept(credentials())


@locked_cache
def _kept(_credentials: tuple[str | None, ...]) -> KeptTokens:
    return default_credential()


@locked_cache
def _shared(_credentials: tuple[str | None, ...], prompt: bool, tries: int) -> AzureSession:
    return AzureSession(MANAGEMENT, prompt=prompt, tries=tries)


def credentials() -> tuple[str | None, ...]:
    """Return the environment variables that determine the credentials. They may change while a program runs."""
    return tuple(os.environ.get(f"AZURE_{name}") for name in ("TENANT_ID", "CLIENT_ID", "CLIENT_SECRET"))
