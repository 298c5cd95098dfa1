"""A vault and a metadata service on loopback, with the parts that a machine uses."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.loopback import Handler

TOKEN = "a-token-that-must-not-be-logged"


class FakeVault:
    """Serves ``secrets``. ``refuse`` makes the vault answer with that status; ``asked`` records the requests."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.secrets: dict[str, str] = {}
        self.refuse = 0
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer((host, 0), self._handler())
        self.url = f"http://{host}:{self._server.server_port}"
        self.metadata = f"{self.url}/metadata/identity/oauth2/token"

    def __enter__(self) -> FakeVault:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str, query: dict[str, list[str]], headers: Any) -> tuple[int, dict[str, Any]]:
        if path == "/metadata/identity/oauth2/token":
            good = headers.get("Metadata") == "true" and query.get("resource") == ["https://vault.azure.net"]
            named = {"client_id", "object_id", "msi_res_id"} & query.keys()
            return (200, {"access_token": TOKEN}) if good and not named else (400, {"error": "invalid_request"})
        if headers.get("Authorization") != f"Bearer {TOKEN}" or "api-version" not in query:
            return 401, {"error": {"code": "Unauthorized"}}
        name = path.removeprefix("/secrets/")
        self.asked.append(name)
        if self.refuse:
            return self.refuse, {"error": {"code": "Refused"}}
        if name not in self.secrets:
            return 404, {"error": {"code": "SecretNotFound"}}
        return 200, {"value": self.secrets[name]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        vault = self

        class Answers(Handler):
            def answer(self) -> tuple[int, bytes]:
                parts = urlsplit(self.path)
                status, document = vault._answer(parts.path, parse_qs(parts.query), self.headers)
                return status, json.dumps(document).encode()

        return Answers
