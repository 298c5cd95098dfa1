"""Reading of secrets from the environment's vault, with the machine's own identity."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

from machine.managed_identity import OwnIdentity
from machine.metadata import NotYetError

from contract.azure import VAULT

VAULT_VERSION = "7.4"
TIMEOUT_S = 10.0


class VaultError(Exception):
    """Raised if the vault or the metadata service does not return the requested value. The message never contains a
    secret's value."""


class WithheldError(VaultError):
    """Raised if the vault answers that there is no such secret, or that this machine may not read the secret."""


class AwayError(VaultError):
    """Raised if no secret can be read now, because there is no token or no answer."""


def _get(url: str, *, what: str, headers: dict[str, str]) -> dict[str, Any]:
    # No proxy: it would see the token.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310  (the vault of the image's configuration)
        with opener.open(request, timeout=TIMEOUT_S) as response:
            document = json.load(response)
    except urllib.error.HTTPError as error:
        refused = WithheldError if error.code in (403, 404) else VaultError
        raise refused(f"{what}: the answer was {error.code} {error.reason}") from None
    except (OSError, ValueError) as error:
        raise AwayError(f"{what}: {type(error).__name__}: {error}") from None
    if not isinstance(document, dict):
        raise VaultError(f"{what}: the answer is not a JSON object")
    return document


@dataclass(kw_only=True)
class MachineVault:
    """A vault, read with the machine's own identity."""

    url: str
    metadata: str
    """Address of the metadata service's token endpoint."""
    _identity: OwnIdentity | None = None

    def token(self) -> str:
        """Return this machine's access token. Raise ``AwayError`` if the metadata service gives none."""
        if self._identity is None:
            root = self.metadata.partition("/metadata/")[0]
            self._identity = OwnIdentity(audience=VAULT, metadata=root)
        try:
            return self._identity.token()
        except NotYetError as error:
            raise AwayError(str(error)) from None

    def read(self, name: str) -> str:
        """Return the current value of the secret ``name``. Raise ``VaultError`` if the secret cannot be read."""
        url = f"{self.url}/secrets/{urllib.parse.quote(name)}?api-version={VAULT_VERSION}"
        headers = {"Authorization": f"Bearer {self.token()}"}
        value = _get(url, what=f"secret {name}", headers=headers).get("value")
        if not isinstance(value, str):
            raise VaultError(f"secret {name}: the answer holds no value")
        return value
