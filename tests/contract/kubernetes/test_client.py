"""Requests to a cluster: connections that are kept, and requests that are repeated."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from components.control_plane import issuing
from contract.kubernetes import connection
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiClient, ApiError


class Server(ThreadingHTTPServer):
    """An API server that gives a test's answers and counts connections."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.connections = 0
        self.asked: list[str] = []
        self.clients: list[str] = []
        """Serial numbers of the certificates that connections came with."""
        self.answers: list[tuple[int, dict[str, str], Any]] = []
        """Answers that are given before any other."""
        self.hangs_up = False
        """True when the server closes a kept connection before its next request."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1
        self.requests = 0
        self.server.clients.append(self.connection.getpeercert()["serialNumber"])

    def _respond(self) -> None:
        self.requests += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.server.hangs_up and self.requests > 1:
            self.close_connection = True
            return
        self.server.asked.append(self.command)
        status, headers, document = self.server.answers.pop(0) if self.server.answers else (200, {}, {"kind": "Test"})
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = _respond  # noqa: N815 - the library's names

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module", name="authority")
def _authority() -> issuing.Pair:
    return issuing.new_authority(common_name="test", days=1, key=issuing.new_key())


@pytest.fixture(scope="module", name="identity")
def _identity(authority: issuing.Pair) -> dict[str, str]:
    subject = issuing.Subject(common_name="me", usages=["client", "server"], days=1, addresses=["127.0.0.1"])
    pair = issuing.issue(subject, authority=authority)
    return {"certificate": pair.certificate, "key": pair.key, "issuer": authority.certificate}


@pytest.fixture(name="server")
def _server(identity: dict[str, str], tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "pem").write_text(identity["certificate"] + identity["key"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=identity["issuer"])
    with Server(context) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(name="api")
def _api(server: Server, identity: dict[str, str]) -> Api:
    return Api(f"https://127.0.0.1:{server.server_address[1]}", identity)


def test_a_connection_is_kept_but_not_when_it_was_idle_for_long(
    server: Server, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        assert api.get("/one") == {"kind": "Test"}
    assert server.connections == 1
    monkeypatch.setattr(connection, "IDLE_S", 0.0)
    api.get("/one")
    assert server.connections == 2


def test_a_renewed_certificate_is_used_from_the_next_request_on(
    server: Server, identity: dict[str, str], authority: issuing.Pair
) -> None:
    pair = issuing.issue(issuing.Subject(common_name="me", usages=["client"], days=1), authority=authority)
    other = {"certificate": pair.certificate, "key": pair.key, "issuer": identity["issuer"]}
    renewals = [None, None, other, None]
    api = Api(f"https://127.0.0.1:{server.server_address[1]}", identity, renew=lambda _held: renewals.pop(0))
    for _ in range(4):
        api.get("/one")
    assert [int(serial, 16) for serial in server.clients] == [serial_of(identity), serial_of(other)]


def serial_of(identity: dict[str, str]) -> int:
    return x509.load_pem_x509_certificate(identity["certificate"].encode()).serial_number


def test_what_finds_its_connection_closed_is_asked_anew_and_nothing_is_made_twice(server: Server, api: Api) -> None:
    api.get("/one")
    server.hangs_up = True
    assert api.patch("/one", {}) == {"kind": "Test"}
    assert api.post("/many", {}) == {"kind": "Test"}
    assert server.connections == 3
    assert server.asked == ["GET", "PATCH", "POST"]


def test_only_who_wants_to_asks_again_later(server: Server, api: Api) -> None:
    busy = (429, {"Retry-After": "0.01"}, {"message": "too many", "reason": "TooManyRequests"})
    server.answers = [busy]
    with pytest.raises(ApiError, match="GET /one: too many") as refused:
        api.get("/one")
    assert (refused.value.status, refused.value.reason) == (429, "TooManyRequests")
    assert refused.value.passing
    server.answers = [busy]
    assert ApiClient(api.access, tries=2).send("GET", "/one") == {"kind": "Test"}
    server.answers = [busy, busy]
    with pytest.raises(ApiError, match="too many"):
        ApiClient(api.access, tries=2).send("GET", "/one")


def test_an_answer_that_is_no_json_is_an_error(server: Server, api: Api) -> None:
    server.answers = [(200, {}, b"<html>"), (502, {}, b"<html>")]
    with pytest.raises(ApiError, match="not a JSON object"):
        api.get("/one")
    with pytest.raises(ApiError, match="GET /one: 502 Bad Gateway"):
        api.get("/one")
