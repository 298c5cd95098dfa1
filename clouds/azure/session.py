"""Authorised requests to Azure. Credentials are those of ``azure-identity``'s default chain: environment variables,
workload identity, managed identity, the Azure CLI."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import requests

MANAGEMENT = "https://management.azure.com"
TIMEOUT_S = 60.0
"""How long one request may take, seconds."""


class AzureError(Exception):
    """Azure refused or did not answer; the message says which resource and what to do where that is known."""

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


class Session:
    """Authorised requests to one audience."""

    def __init__(self, audience: str) -> None:
        self._scope = f"{audience}/.default"

    @cached_property
    def _http(self) -> requests.Session:
        import requests
        from urllib3.util import Retry

        session = requests.Session()
        # What passes by itself is waited for, as long as the answer says; any other refusal is final.
        retry = Retry(
            total=5,
            backoff_factor=1,
            status_forcelist=(429, 502, 503, 504),
            allowed_methods=None,
            raise_on_status=False,
        )
        session.mount("https://", requests.adapters.HTTPAdapter(max_retries=retry))
        return session

    @cached_property
    def _credential(self) -> Any:
        from azure.identity import DefaultAzureCredential

        return DefaultAzureCredential()

    def request(self, method: str, url: str, *, body: Mapping[str, Any] | None = None) -> requests.Response:
        """One request; ``AzureError`` for anything but success."""
        import requests
        from azure.core.exceptions import AzureError as CoreError
        from azure.core.exceptions import ClientAuthenticationError

        try:
            token = self._credential.get_token(self._scope).token
            headers = {"Authorization": f"Bearer {token}"}
            response = self._http.request(method, url, json=body, headers=headers, timeout=TIMEOUT_S)
        except requests.RequestException as error:
            raise AzureError(f"{url.split('?', maxsplit=1)[0]} does not answer: {type(error).__name__}") from error
        except ClientAuthenticationError as error:
            reason = str(error).splitlines()[0]
            raise AzureError(
                f"no Azure credential works: {reason} Sign in with `az login` or set AZURE_*.", status=401
            ) from error
        except CoreError as error:
            raise AzureError(
                f"the sign-in for {url.split('?', 1)[0]} does not answer: {type(error).__name__}"
            ) from error
        if response.status_code >= 400:
            raise _refusal(method, url, response)
        return response


def _refusal(method: str, url: str, response: requests.Response) -> AzureError:
    try:
        error = response.json().get("error", {})
    except ValueError:
        error = {}
    inner = (error.get("innererror") or {}).get("code")
    code = str(inner or error.get("code") or response.status_code)
    message = f"{method} {url.split('?', maxsplit=1)[0]}: {code}: {error.get('message', response.reason)}"
    return AzureError(message, status=response.status_code, code=code)


def shared(audience: str) -> Session:
    """One session for all who ask with the same credentials: signing in and opening connections cost far more than what
    is asked, and an environment has dozens of secrets."""
    return _shared(audience, _who())


@cache
def _shared(audience: str, _credentials: tuple[str | None, ...]) -> Session:
    return Session(audience)


def _who() -> tuple[str | None, ...]:
    """What the credentials come from, as far as it can change while a program runs."""
    return tuple(os.environ.get(f"AZURE_{name}") for name in ("TENANT_ID", "CLIENT_ID", "CLIENT_SECRET"))
