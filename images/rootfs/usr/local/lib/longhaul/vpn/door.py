"""Sign-in endpoint of a VPN machine. It takes a person's token and a laptop's certificate request, and passes both to
the signer. The endpoint has no signing key, and decides only how often a client may ask."""

from __future__ import annotations

import json
import logging
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

from join_endpoint.command_line import run
from join_endpoint.https_listener import HttpConnection, Server, length_of
from join_endpoint.join_requests import JoinAnswer

from contract.documents.node import NodeConfig
from contract.json_object import json_object
from contract.ports import JOIN_HEALTH_PATH, VPN_CERTIFICATE_PATH
from contract.token_buckets import Buckets
from contract.vpn import MOST_TOKEN

log = logging.getLogger(__name__)

SIGNER = Path("/run/longhaul-vpn-signer.sock")

LARGEST = 64 * 1024
"""Largest body in bytes. A request with a key of an elliptic curve has 500 bytes."""
HEAD = 32 * 1024
"""Largest size in bytes of a request's first line and headers. A token with 200 groups, the largest number in a token
of Entra, has 12 KiB ("ID token claims reference", "Groups overage claim")."""
ANSWER = 256 * 1024
SIGNER_S = 30.0
"""Longest duration in seconds of a signature, which needs two requests to the API server."""

A_SECOND, AT_ONCE = 5.0, 20.0
"""Largest number of questions to the signer, per second and at once, because each question starts a program. A laptop
asks once an hour."""
SENDER_A_SECOND, SENDER_AT_ONCE = 1.0, 10.0
"""Largest number of questions from one address, per second and at once. Several people may share an address."""
FALSE_A_SECOND, FALSE_AT_ONCE = 1 / 20, 5.0
"""Largest number of refused tokens from one address, per second and at once. Each refused token takes capacity from
other clients."""
PERSON_A_SECOND, PERSON_AT_ONCE = 1 / 60, 10.0
"""Largest number of certificates of one person, per second and at once. A certificate allows one session for an hour,
so nobody gets more than 70 of a machine's 500 sessions. A laptop whose company's tokens last ten minutes asks eight
times an hour."""

PATIENCE_S = 5.0
"""Longest time in seconds from a connection's start to its complete request. Without this limit, a client could keep a
connection open with a few bytes now and then, and sixteen addresses could take all connections."""

_TOKEN = re.compile(rf"Bearer ([A-Za-z0-9._~+/=-]{{1,{MOST_TOKEN}}})", re.IGNORECASE)
"""A token in a header (RFC 6750, 2.1)."""


class Door:
    """The sign-in endpoint's answers to laptops. Threads may share the object."""

    def __init__(self, ask: Callable[[bytes], bytes], *, clock: Callable[[], float] = time.monotonic) -> None:
        """``ask`` passes a question to the signer and returns the answer, or raises ``OSError`` if there is no
        answer."""
        self._ask = ask
        self._all = Buckets(rate=A_SECOND, burst=AT_ONCE, clock=clock)
        self._senders = Buckets(rate=SENDER_A_SECOND, burst=SENDER_AT_ONCE, clock=clock)
        self._false = Buckets(rate=FALSE_A_SECOND, burst=FALSE_AT_ONCE, clock=clock)
        self._people = Buckets(rate=PERSON_A_SECOND, burst=PERSON_AT_ONCE, clock=clock)

    def sign_in(self, authorization: str, posted: bytes, *, sender: str) -> JoinAnswer:
        """Return the answer to a laptop at the address ``sender``: a certificate, or the reason why there is none."""
        # Malformed requests do not count against the questions that others may ask.
        token = _TOKEN.fullmatch(authorization)
        if token is None:
            return refusal(401, "send a token as `Authorization: Bearer`")
        try:
            request = json_object(posted)["csr"]
        except (ValueError, LookupError):
            return refusal(400, "write JSON with `csr`")
        if self._false.is_empty(sender):
            return refusal(429, "too many tokens of this address were refused: try again in a minute")
        if not (self._senders.take(sender) and self._all.take("")):
            return refusal(429, "too many ask at once: try again in a few seconds")
        try:
            reply = json_object(self._ask(json.dumps({"token": token[1], "csr": request}).encode()))
            answer = JoinAnswer(status=int(reply["status"]), body=dict(reply["body"]))
            person = str(reply["person"]) if answer.status == 200 else ""
        except (OSError, ValueError, LookupError, TypeError) as error:
            log.warning("%s: the signer cannot be asked: %s", sender, error)
            return refusal(503, "nothing can be signed at present: try again")
        if answer.status == 401:
            self._false.take(sender)
        if person and not self._people.take(person):
            return refusal(429, "you have many certificates already: try again in a minute")
        return answer


class LaptopHandler(HttpConnection):
    """Handler of one connection of a laptop, for a single request. A connection that waits for a further request would
    take a place that other laptops need."""

    head = HEAD
    server: Server[Door]

    def do_GET(self) -> None:  # noqa: N802  (as http.server names it)
        """Answer a probe."""
        self.close_connection = True
        self._say(
            JoinAnswer(status=200, body={}) if self.path == JOIN_HEALTH_PATH else refusal(404, "there is nothing here")
        )

    def do_POST(self) -> None:  # noqa: N802
        """Answer a token and a certificate request."""
        self.close_connection = True
        length = length_of(self.headers.get("Content-Length", ""))
        if self.path != VPN_CERTIFICATE_PATH or not 0 <= length <= LARGEST:
            known = self.path == VPN_CERTIFICATE_PATH
            status = 413 if known and length > LARGEST else 400 if known else 404
            self._say(refusal(status, f"post {LARGEST} bytes at most to {VPN_CERTIFICATE_PATH}"))
            return
        posted = self.rfile.read(length)
        if len(posted) == length:
            self.server.note_request(self.request)
            self._say(self.server.endpoint.sign_in(self.headers.get("Authorization", ""), posted, sender=self._sender))


def refusal(status: int, why: str) -> JoinAnswer:
    """Return the answer for a refusal with the reason ``why``."""
    return JoinAnswer(status=status, body={"error": why})


def ask_signer(question: bytes, *, path: Path = SIGNER) -> bytes:
    """Pass a question to the signer, and return the answer. Raise ``OSError`` if the signer does not answer, or its
    answer is too long."""
    deadline = time.monotonic() + SIGNER_S
    answer = bytearray()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.settimeout(SIGNER_S)
        asked.connect(str(path))
        asked.sendall(question)
        asked.shutdown(socket.SHUT_WR)
        while part := asked.recv(65536):
            answer += part
            if len(answer) > ANSWER or time.monotonic() > deadline:
                raise OSError("its answer is too long")
    return bytes(answer)


def server_of(door: Door, where: tuple[str, int], *, certificate: Path) -> Server[Door]:
    """Return an HTTPS server of the endpoint."""
    return Server(where, door, certificate=certificate, handler=LaptopHandler, patience_s=PATIENCE_S)


def make_server(node: NodeConfig, pki: Path, address: str) -> Server[Door]:
    """Return the machine's server, which listens at ``address``. ``pki`` is the folder of the machine's
    certificates."""
    return server_of(Door(ask_signer), (address, node.sign_in_port), certificate=pki / "vpn-door.pem")


def main() -> int:
    """Serve until SIGTERM, and return the exit code."""
    return run(__doc__, make_server)
