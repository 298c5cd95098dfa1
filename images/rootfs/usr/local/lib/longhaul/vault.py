"""Reading of secrets from the environment's vault, with the machine's own identity."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from typing import Any

RESOURCE = "https://vault.azure.net"
"""Resource that the token is for (learn.microsoft.com, "Authentication, requests and responses" of Azure Key Vault)."""

METADATA_VERSION = "2018-02-01"
VAULT_VERSION = "7.4"
TIMEOUT_S = 10.0


class VaultError(Exception):
    """Raised when the vault or the metadata service did not give what was asked for. Never contains a secret's
    value."""


class AwayError(VaultError):
    """Raised when nothing can be read at present: there is no token, or no answer."""


def _get(url: str, *, what: str, headers: dict[str, str]) -> dict[str, Any]:
    # No proxy: the metadata service must be asked directly, and a proxy would see the token.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310  (the image's own two addresses)
        with opener.open(request, timeout=TIMEOUT_S) as response:
            document = json.load(response)
    except urllib.error.HTTPError as error:
        raise VaultError(f"{what}: the answer was {error.code} {error.reason}") from None
    except (OSError, ValueError) as error:
        raise AwayError(f"{what}: {type(error).__name__}: {error}") from None
    if not isinstance(document, dict):
        raise VaultError(f"{what}: the answer is not a JSON object")
    return document


@dataclass(kw_only=True)
class Vault:
    """One vault. The token is requested once: these programs run for a shorter time than its life of hours."""

    url: str
    metadata: str
    """Address of the metadata service's token endpoint. The request names no identity: with no system-assigned and
    exactly one user-assigned identity, Azure uses that one (learn.microsoft.com, "Managed identities for Azure
    resources frequently asked questions")."""
    _token: str = field(default="", repr=False)

    def token(self) -> str:
        """Return this machine's access token; ``AwayError`` when the metadata service gives none."""
        if not self._token:
            query = urllib.parse.urlencode({"api-version": METADATA_VERSION, "resource": RESOURCE})
            what = "token from the metadata service"
            try:
                answer = _get(f"{self.metadata}?{query}", what=what, headers={"Metadata": "true"})
            except VaultError as error:
                raise AwayError(str(error)) from None
            token = answer.get("access_token")
            if not isinstance(token, str) or not token:
                raise AwayError(f"{what}: the answer holds no access_token")
            self._token = token
        return self._token

    def read(self, name: str) -> str:
        """Return the current value of the secret ``name``; ``VaultError`` with the secret's name when it cannot be
        read."""
        url = f"{self.url}/secrets/{urllib.parse.quote(name)}?api-version={VAULT_VERSION}"
        headers = {"Authorization": f"Bearer {self.token()}"}
        value = _get(url, what=f"secret {name}", headers=headers).get("value")
        if not isinstance(value, str):
            raise VaultError(f"secret {name}: the answer holds no value")
        return value
