"""Sign-in in a browser on the same machine: the authorization code flow with PKCE, whose answer comes to a port on
loopback (RFC 8252, section 7.3; RFC 7636)."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
import urllib.parse
import webbrowser
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer

from longhaul.client.errors import SignInError
from longhaul.client.oidc import Provider
from longhaul.client.tokens import Tokens

PORTS = (8000, 18000)
"""Ports to try, in this order. kubelogin uses the same ports, so both need the same redirect URIs; Okta accepts
registered ports only."""

WAIT_S = 300.0
"""Time that a person has to sign in, seconds."""

PAGE = b"<!doctype html><title>Longhaul</title><p>%s You can close this page."


def sign_in(
    provider: Provider, *, show: Callable[[str], object] = webbrowser.open, ports: Sequence[int] = PORTS
) -> Tokens:
    """Show the issuer's page to the person, and return the tokens of the person who signs in there."""
    verifier, nonce, state = (secrets.token_urlsafe(48) for _ in range(3))
    with _listening(ports) as server:
        redirect = f"http://localhost:{server.server_address[1]}"
        asked = {
            "response_type": "code",
            "client_id": provider.issuer.client_id,
            "redirect_uri": redirect,
            "scope": " ".join(provider.issuer.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in provider.authorization else "?"
        show(f"{provider.authorization}{joint}{urllib.parse.urlencode(asked)}")
        code = server.await_code(state)
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier}
    return provider.exchange(form, nonce=nonce)


class _Handler(BaseHTTPRequestHandler):
    """One request of the browser."""

    timeout = 10.0
    server: _Server

    def do_GET(self) -> None:
        """Take the issuer's answer; ignore every other request."""
        parameters = {
            key: values[0] for key, values in urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).items()
        }
        if "state" not in parameters:
            self.send_error(404)
            return
        mine = secrets.compare_digest(parameters["state"].encode(), self.server.state.encode())
        if mine:
            self.server.answer = parameters
        text = b"Signed in." if mine and "code" in parameters else b"Not signed in."
        self.send_response(200 if mine else 400)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(PAGE % text)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the request contains the authorization code."""


class _Server(HTTPServer):
    """Waits for the one answer with the expected ``state``."""

    allow_reuse_address = False
    timeout = 1.0
    state = ""
    answer: dict[str, str] | None = None

    def await_code(self, state: str) -> str:
        """Return the code. Raise ``SignInError`` when the issuer refused, or nobody signed in."""
        self.state = state
        deadline = time.monotonic() + WAIT_S
        while self.answer is None:
            if time.monotonic() > deadline:
                raise SignInError("nobody signed in within five minutes: try again")
            self.handle_request()
        if "code" not in self.answer:
            why = self.answer.get("error_description") or self.answer.get("error", "no code came")
            raise SignInError(f"not signed in: {why[:300]}")
        return self.answer["code"]

    def handle_error(self, _request: object, _client_address: object) -> None:
        """Ignore a browser that closed its connection."""


def _listening(ports: Sequence[int]) -> _Server:
    """Return a server on the first free port."""
    for port in ports:
        try:
            return _Server(("127.0.0.1", port), _Handler)
        except OSError:
            continue
    raise SignInError(f"ports {' and '.join(map(str, ports))} are in use on this machine: use --device, or free a port")
