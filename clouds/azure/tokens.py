"""Stores tokens, so that their source is asked once for each audience, for any number of threads.

Azure CLI as a source takes seconds for each token, and ``AzureCliCredential`` stores none (learn.microsoft.com,
"AzureCliCredential Class": callers of ``get_token`` have to cache).
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any

from clouds.base.machine_access import socket_token
from contract.azure import TOKENS_VARIABLE
from contract.documents.cloud_token import NoTokenError

EARLY_S = 300.0
"""Remaining validity of a token below which a new one is requested, seconds, as in azure-core's own policy."""


PROCESS_S = 90
"""Time limit for a program that returns tokens, such as Azure CLI, seconds. The default is 10, and `az` needs up to 13
on a busy machine (github.com/Azure/azure-cli/issues/20404 and 29329)."""


class KeptTokens:
    """A credential that stores the tokens of another credential of azure-identity."""

    def __init__(self, credential: Any, *, wall: Callable[[], float] = time.time) -> None:
        self._credential, self._wall = credential, wall
        self._lock = Lock()
        self._futures: dict[str, Future[Any]] = {}

    def get_token(self, *scopes: str, **options: Any) -> Any:
        """Return a token that is valid for some minutes more. Raise azure-identity's own errors; all waiting threads
        get the same token or error."""
        if options.get("claims"):  # The service refuses the stored token.
            return self._credential.get_token(*scopes, **options)
        key = repr((scopes, sorted(options.items())))
        future, asks = self._answer(key)
        if asks:
            try:
                future.set_result(self._credential.get_token(*scopes, **options))
            except BaseException as error:  # noqa: BLE001 - whatever it is, those who wait must know
                future.set_exception(error)
        return future.result()

    def holder(self) -> str:
        """Return the name of the stored tokens' holder; empty when there is no token or it names nobody."""
        with self._lock:
            futures = [future for future in self._futures.values() if future.done() and future.exception() is None]
        return next(filter(None, (holder(str(future.result().token)) for future in futures)), "")

    def _answer(self, key: str) -> tuple[Future[Any], bool]:
        """Return the stored or running request, and False; or a new request that the caller has to answer, and True."""
        with self._lock:
            future = self._futures.get(key)
            if future is not None and (not future.done() or self._valid(future)):
                return future, False
            made = self._futures[key] = Future[Any]()
            return made, True

    def _valid(self, future: Future[Any]) -> bool:
        return future.exception() is None and future.result().expires_on - EARLY_S > self._wall()


def holder(token: str) -> str:
    """Return a person's name or an application's id in an access token, read as azure-identity reads it for its own log
    (``azure/identity/_internal/decorators.py``); empty when the token contains neither. Nothing is verified.

    Guests have no ``upn``. A token with ``scp`` belongs to a person; its ``appid`` is the id of a tool such as Azure
    CLI (learn.microsoft.com, "Access token claims reference").
    """
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        itself = claims.get("oid" if "scp" in claims else "appid")
        return str(claims.get("upn") or claims.get("unique_name") or itself or "")
    except (LookupError, ValueError, AttributeError):
        return ""


class SocketTokens:
    """Credential for Azure's resource manager only, whose tokens come from a program on the same machine."""

    def __init__(self, path: str) -> None:
        self._path = path

    def get_token(self, *_scopes: str, **_options: Any) -> Any:
        """Return a token. Raise azure-core's ``ClientAuthenticationError`` when the program returns none."""
        from azure.core.credentials import AccessToken
        from azure.core.exceptions import ClientAuthenticationError

        try:
            token, until = socket_token(self._path)
        except NoTokenError as error:
            raise ClientAuthenticationError(f"{error}.") from None
        return AccessToken(token, int(until))


def default_credential() -> KeptTokens:
    """Return a credential with tokens from the socket that an environment variable names; without that variable, from
    the default chain of azure-identity: environment variables, workload identity, managed identity, Azure CLI."""
    if path := os.environ.get(TOKENS_VARIABLE):
        return KeptTokens(SocketTokens(path))
    from azure.identity import DefaultAzureCredential

    return KeptTokens(DefaultAzureCredential(process_timeout=PROCESS_S))
