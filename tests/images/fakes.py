"""A vault and a metadata service on loopback, with the parts that a machine uses."""

from __future__ import annotations

import json
from typing import Any

from tests.support.loopback import Answering, Asked

TOKEN = "a-token-that-must-not-be-logged"


class FakeVault(Answering):
    """Serves ``secrets``. ``refuse`` makes the vault answer with that status."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.secrets: dict[str, str] = {}
        self.refuse = 0
        self.metadata = f"{self.url}/metadata/identity/oauth2/token"

    def _answer(self, asked: Asked) -> tuple[int, bytes]:
        status, document = self._metadata(asked) if asked.path.startswith("/metadata/") else self._secret(asked)
        return status, json.dumps(document).encode()

    def _metadata(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        good = asked.headers.get("metadata") == "true" and asked.query.get("resource") == ["https://vault.azure.net"]
        named = {"client_id", "object_id", "msi_res_id"} & asked.query.keys()
        return (200, {"access_token": TOKEN}) if good and not named else (400, {"error": "invalid_request"})

    def _secret(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        if asked.headers.get("authorization") != f"Bearer {TOKEN}" or "api-version" not in asked.query:
            return 401, {"error": {"code": "Unauthorized"}}
        if self.refuse:
            return self.refuse, {"error": {"code": "Refused"}}
        name = asked.path.removeprefix("/secrets/")
        found = self.secrets.get(name)
        return (404, {"error": {"code": "SecretNotFound"}}) if found is None else (200, {"value": found})
