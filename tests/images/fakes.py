"""A vault and a metadata service on loopback, with the parts that a machine uses."""

from __future__ import annotations

import json
from typing import Any

from tests.support.loopback import Answering, Asked

TOKEN = "a-token-that-must-not-be-logged"
UNTIL = 4_000_000_000.0
"""End of the token's life, in seconds since 1970."""
SCOPE = "/subscriptions/sub/resourceGroups/lab-weu/providers"
MACHINE = f"{SCOPE}/Microsoft.Compute/virtualMachines/lab-m"
IDENTITY = f"{SCOPE}/Microsoft.ManagedIdentity/userAssignedIdentities/lab-m"
MANY = {
    "error": "invalid_request",
    "error_description": "Multiple user assigned identities exist, please specify the clientId / resourceId of the "
    "identity in the token request",
}


def resource_id(asked: Asked, resource: str = MACHINE) -> tuple[int, bytes] | None:
    """Return the metadata service's answer about the machine's id; None for another request."""
    if asked.path != "/metadata/instance/compute/resourceId":
        return None
    good = asked.headers.get("metadata") == "true" and asked.query["format"] == ["text"] and asked.query["api-version"]
    return (200, resource.encode()) if good else (400, b"")


class FakeVault(Answering):
    """Serves ``secrets``. ``refuse`` makes the vault answer with that status. The machine has a second identity, as a
    company's policy adds it, so the metadata service gives no token to who names none."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.secrets: dict[str, str] = {}
        self.refuse, self.until = 0, UNTIL
        self.metadata = f"{self.url}/metadata/identity/oauth2/token"

    def _answer(self, asked: Asked) -> tuple[int, bytes]:
        if (told := resource_id(asked)) is not None:
            return told
        status, document = self._metadata(asked) if asked.path.startswith("/metadata/") else self._secret(asked)
        return status, json.dumps(document).encode()

    def _metadata(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        good = asked.headers.get("metadata") == "true" and asked.query.get("resource") == ["https://vault.azure.net"]
        if asked.query.get("msi_res_id") != [IDENTITY]:
            return 400, MANY
        return (200, {"access_token": TOKEN, "expires_on": str(self.until)}) if good else (400, {})

    def _secret(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        if asked.headers.get("authorization") != f"Bearer {TOKEN}" or "api-version" not in asked.query:
            return 401, {"error": {"code": "Unauthorized"}}
        if self.refuse:
            return self.refuse, {"error": {"code": "Refused"}}
        name = asked.path.removeprefix("/secrets/")
        found = self.secrets.get(name)
        return (404, {"error": {"code": "SecretNotFound"}}) if found is None else (200, {"value": found})
