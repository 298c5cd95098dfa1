"""Sign-in endpoint of a VPN machine and its signer: what a stranger can have, which is nothing."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from join_endpoint import https_listener
from vpn import door as vpn_door
from vpn.certificate import Signer
from vpn.door import FALSE_A_SECOND, FALSE_AT_ONCE, LARGEST, PATIENCE_S, PERSON_AT_ONCE, SENDER_AT_ONCE, Door, server_of
from vpn.people import WHO, People
from vpn.signer import Desk

from components.control_plane import issuing
from components.model.vpn.section import RIGHT
from contract.kubernetes.paths import ACCESS_REVIEWS
from contract.ports import VPN_CERTIFICATE_PATH
from contract.vpn import LONGEST_NAME, MARK, MOST_TOKEN

NOW = datetime.now(UTC).replace(microsecond=0)
ALICE = "corp:a-1"


def token(**claims: Any) -> str:
    """Return a token as a kube-apiserver here believes it, whoever signed it."""
    said = {"exp": (NOW + timedelta(minutes=30)).timestamp(), **claims}
    body = base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
    return f"e30.{body}.c2ln"


def request(key: Any = None, *, name: str = "system:masters", authority: bool = False) -> str:
    key = key or ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    )
    if authority:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    digest = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(key, digest).public_bytes(serialization.Encoding.PEM).decode()


@dataclass
class FakeApi:
    """An API server that answers as it is told."""

    name: str = ALICE
    allowed: object = True
    status: int = 201
    asked: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)

    def answer(self, path: str, bearer: str, document: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.asked.append((path, bearer, document))
        status = {WHO: {"userInfo": {"username": self.name}}, ACCESS_REVIEWS: {"allowed": self.allowed}}[path]
        return self.status, {"status": status}


@contextmanager
def served(api: FakeApi, folder: Path) -> Iterator[People]:
    authority = issuing.new_authority(common_name="kubernetes", days=1, key=issuing.new_key())
    subject = issuing.Subject(common_name="kube-apiserver", addresses=["127.0.0.1"], usages=["server"], days=1)
    pair = issuing.issue(subject, authority=authority)
    (folder / "api.pem").write_text(pair.certificate + pair.key)
    (folder / "kubernetes-ca.crt").write_text(authority.certificate)

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = api.answer(self.path, self.headers["Authorization"], document)
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "api.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"https://127.0.0.1:{server.server_address[1]}"
        yield People(url=url, authority=folder / "kubernetes-ca.crt", right=RIGHT)
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(name="api")
def _api() -> FakeApi:
    return FakeApi()


@pytest.fixture(name="desk")
def _desk(api: FakeApi, tmp_path: Path) -> Iterator[Desk]:
    authority = issuing.new_authority(common_name="lab VPN", days=1, key=issuing.new_key())
    with served(api, tmp_path) as people:
        signer = Signer.parse(f"{authority.certificate}\n{authority.key}\n")
        yield Desk(people=people, signer=signer, hours=1, facts={"tls_crypt": "key", "remotes": []})


def ask(desk: Desk, csr: object, *, bearer: str | None = None) -> tuple[int, dict[str, Any]]:
    found = desk.answer(json.dumps({"token": bearer or token(), "csr": csr}).encode(), now=NOW)
    return found["status"], found["body"]


@pytest.mark.parametrize("make", [lambda: ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate])
def test_a_certificate_says_what_the_api_says_and_nothing_of_the_request(desk: Desk, api: FakeApi, make: Any) -> None:
    key = make()
    status, body = ask(desk, request(key, authority=True))
    assert status == 200
    found = x509.load_pem_x509_certificate(body["certificate"].encode())
    assert found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == ALICE
    assert (
        found.subject.get_attributes_for_oid(NameOID.USER_ID)[0].value
        == issuing.key_fingerprint(body["certificate"])[:MARK]
    )
    assert len(found.subject) == 2
    assert found.public_key() == key.public_key()
    assert issuing.is_issued_by(body["certificate"], desk.signer.pem)
    assert found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    assert list(found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        ExtendedKeyUsageOID.CLIENT_AUTH
    ]
    assert body["tls_crypt"] == "key"
    told = desk.answer(json.dumps({"token": token(), "csr": request(key)}).encode(), now=NOW)
    assert told["person"] == ALICE
    del api.asked[2:]
    assert [path for path, _, _ in api.asked] == [WHO, ACCESS_REVIEWS]
    assert {bearer for _, bearer, _ in api.asked} == {f"Bearer {token()}"}
    assert api.asked[1][2]["spec"] == {"nonResourceAttributes": {"path": "/longhaul/vpn", "verb": "get"}}


@pytest.mark.parametrize(("minutes", "lasts"), [(30, 30), (300, 60)])
def test_it_ends_with_the_token_or_after_an_hour(desk: Desk, minutes: int, lasts: int) -> None:
    ends = NOW + timedelta(minutes=minutes)
    _, body = ask(desk, request(), bearer=token(exp=ends.timestamp()))
    found = x509.load_pem_x509_certificate(body["certificate"].encode())
    assert found.not_valid_after_utc == NOW + timedelta(minutes=lasts)
    assert body["lasts_s"] == lasts * 60


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"status": 401}, 401),
        ({"status": 403}, 403),
        ({"allowed": False}, 403),
        ({"allowed": "yes"}, 403),
        ({"status": 500}, 503),
        ({"status": 200}, 503),
        ({"name": "system:serviceaccount:research:default"}, 403),
        ({"name": "longhaul:node-controller"}, 403),
        ({"name": "alice"}, 403),
        ({"name": "corp:a b"}, 403),
        ({"name": "corp:" + "a" * LONGEST_NAME}, 403),
        ({"name": ""}, 403),
    ],
    ids=str,
)
def test_whoever_the_api_refuses_or_no_person_gets_none(
    desk: Desk, api: FakeApi, change: dict[str, Any], status: int
) -> None:
    for key, value in change.items():
        setattr(api, key, value)
    found, body = ask(desk, request())
    assert (found, list(body)) == (status, ["error"])


@pytest.mark.parametrize("bearer", ["abcdef.0123456789abcdef", "opaque", "a.b.c", f"a.{'A' * 9000}.c"])
def test_a_token_without_an_end_is_refused(desk: Desk, bearer: str) -> None:
    assert ask(desk, request(), bearer=bearer)[0] == 401


def test_a_token_that_has_ended_is_refused(desk: Desk) -> None:
    assert ask(desk, request(), bearer=token(exp=NOW.timestamp() - 1))[0] == 401


def altered() -> str:
    """Return a request whose name was changed after it was signed."""
    der = x509.load_pem_x509_csr(request(name="mallory").encode()).public_bytes(serialization.Encoding.DER)
    body = base64.encodebytes(der.replace(b"mallory", b"someone")).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{body}-----END CERTIFICATE REQUEST-----\n"


@pytest.mark.parametrize(
    "csr",
    [
        "",
        "text",
        "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
        None,
        5,
        altered(),
        request(rsa.generate_private_key(65537, 2048)),
        request(ec.generate_private_key(ec.SECP384R1())),
    ],
)
def test_what_is_no_request_of_ours_reaches_no_api(desk: Desk, api: FakeApi, csr: object) -> None:
    assert ask(desk, csr)[0] == 400
    assert api.asked == []


def test_an_api_that_is_away_is_said(desk: Desk, tmp_path: Path) -> None:
    away = People(url="https://127.0.0.1:1", authority=tmp_path / "kubernetes-ca.crt", right=RIGHT)
    assert ask(Desk(people=away, signer=desk.signer, hours=1, facts={}), request())[0] == 503


# The door.


@contextmanager
def door(folder: Path, ask_signer: Any) -> Iterator[int]:
    authority = issuing.new_authority(common_name="lab VPN", days=1, key=issuing.new_key())
    subject = issuing.Subject(common_name="vpn.test", dns_names=["vpn.test"], usages=["server"], days=1)
    pair = issuing.issue(subject, authority=authority)
    (folder / "door.pem").write_text(pair.certificate + pair.key)
    server = server_of(Door(ask_signer), ("127.0.0.1", 0), certificate=folder / "door.pem")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def post(port: int, body: bytes, *, path: str = VPN_CERTIFICATE_PATH, **headers: str) -> tuple[int, dict[str, Any]]:
    own = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=ssl._create_unverified_context())
    try:
        own.request("POST", path, body, headers)
        answer = own.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        own.close()


def say_nothing(_question: bytes) -> bytes:
    raise AssertionError("the signer was asked")


GOOD = {"Authorization": f"Bearer {token()}"}
BODY = b'{"csr": "x"}'


def test_the_door_hands_on_what_it_got(tmp_path: Path) -> None:
    asked: list[bytes] = []

    def answer(question: bytes) -> bytes:
        asked.append(question)
        return json.dumps({"status": 403, "body": {"error": "no"}}).encode()

    with door(tmp_path, answer) as port:
        assert post(port, BODY, **GOOD) == (403, {"error": "no"})
        large = "Bearer " + "A" * 12_000
        assert post(port, BODY, Authorization=large)[0] == 403
    assert json.loads(asked[0]) == {"token": token(), "csr": "x"}


@pytest.mark.parametrize(
    ("body", "more", "status"),
    [
        (BODY, {}, 401),
        (BODY, {"Authorization": "Basic YTpi"}, 401),
        (BODY, {"Authorization": "Bearer a b"}, 401),
        (b"", GOOD, 400),
        (b"[1]", GOOD, 400),
        (b"[" * 60_000, GOOD, 400),
        (b"\xff\xfe", GOOD, 400),
        (b'{"other": 1}', GOOD, 400),
        # Its length alone: nobody reads the body, so who still writes it may find the connection closed first.
        (b"", {**GOOD, "Content-Length": str(LARGEST + 1)}, 413),
        (BODY, {**GOOD, "path": "/v1/other"}, 404),
        (b"", {**GOOD, "Content-Length": "-1"}, 400),
    ],
)
def test_what_the_door_refuses_by_itself(tmp_path: Path, body: bytes, more: dict[str, str], status: int) -> None:
    with door(tmp_path, say_nothing) as port:
        found, said = post(port, body, **more)
    assert (found, list(said)) == (status, ["error"])


def test_one_address_asks_only_so_often(tmp_path: Path) -> None:
    answer = json.dumps({"status": 403, "body": {"error": "no"}}).encode()
    with door(tmp_path, lambda _question: answer) as port:
        found = [post(port, BODY, **GOOD)[0] for _ in range(int(SENDER_AT_ONCE) + 5)]
    assert set(found) == {403, 429}


class Minutes:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_false_tokens_take_few_turns_of_others(tmp_path: Path) -> None:
    """An address that sends such is not heard for a while; others are."""
    asked: list[bytes] = []

    def answer(question: bytes) -> bytes:
        asked.append(question)
        return json.dumps({"status": 401, "body": {"error": "no"}}).encode()

    clock = Minutes()
    door_, header = Door(answer, clock=clock), GOOD["Authorization"]
    for _ in range(100):
        clock.now += 1
        door_.sign_in(header, BODY, sender="192.0.2.1")
    assert FALSE_AT_ONCE <= len(asked) <= FALSE_AT_ONCE + 100 * FALSE_A_SECOND + 1
    assert door_.sign_in(header, BODY, sender="192.0.2.1").status == 429
    assert door_.sign_in(header, BODY, sender="192.0.2.2").status == 401
    clock.now += 1 / FALSE_A_SECOND
    assert door_.sign_in(header, BODY, sender="192.0.2.1").status == 401


def test_nobody_fills_a_machine_with_sessions(tmp_path: Path) -> None:
    """Each session needs a certificate of its own, and a person gets so many, wherever they ask from."""
    people = iter([ALICE] * 200 + ["corp:b-2"])

    def answer(_question: bytes) -> bytes:
        return json.dumps({"status": 200, "person": next(people), "body": {"certificate": "x"}}).encode()

    clock = Minutes()
    door_, header, found = Door(answer, clock=clock), GOOD["Authorization"], []
    for number in range(200):
        clock.now += 3600 / 200
        found.append(door_.sign_in(header, BODY, sender=f"192.0.2.{number}").status)
    assert set(found[: int(PERSON_AT_ONCE)]) == {200}
    assert found.count(200) <= 70
    assert door_.sign_in(header, BODY, sender="192.0.2.1").status == 200, "another person"


def test_the_largest_token_of_a_laptop_is_taken(tmp_path: Path) -> None:
    answer = json.dumps({"status": 403, "body": {"error": "no"}}).encode()
    with door(tmp_path, lambda _question: answer) as port:
        assert post(port, BODY, Authorization=f"Bearer {'A' * MOST_TOKEN}")[0] == 403
        assert post(port, BODY, Authorization=f"Bearer {'A' * (MOST_TOKEN + 1)}")[0] == 401


def test_a_signer_that_is_away_or_talks_nonsense_is_said(tmp_path: Path) -> None:
    nameless = b'{"status": 200, "body": {}}'
    for wrong in (b"", b"[]", b'{"status": "x"}', nameless):
        with door(tmp_path, lambda _question, said=wrong: said) as port:
            assert post(port, BODY, **GOOD)[0] == 503


def slow(port: int, sender: str) -> ssl.SSLSocket:
    """Return a connection that has done its handshake, and has sent a part of a request."""
    plain = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(sender, 0))
    own = ssl._create_unverified_context().wrap_socket(plain)
    own.sendall(b"POST /v1/certificate HTTP/1.1\r\n")
    return own


def test_slow_connections_of_sixteen_addresses_shut_nobody_out(tmp_path: Path) -> None:
    answer = json.dumps({"status": 403, "body": {"error": "no"}}).encode()
    places, own = https_listener.CONNECTIONS, https_listener.CONNECTIONS_OF_ONE
    with door(tmp_path, lambda _question: answer) as port, ExitStack() as held:
        for number in range(places):
            held.enter_context(slow(port, f"127.0.{number // own + 1}.1"))
        assert post(port, BODY, **GOOD)[0] == 403


def test_who_waits_for_the_signer_keeps_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https_listener, "CONNECTIONS", 1)
    asked, go = threading.Event(), threading.Event()
    found: list[int] = []

    def answer(_question: bytes) -> bytes:
        asked.set()
        assert go.wait(10)
        return json.dumps({"status": 403, "body": {"error": "no"}}).encode()

    with door(tmp_path, answer) as port:
        waiting = threading.Thread(target=lambda: found.append(post(port, BODY, **GOOD)[0]))
        waiting.start()
        assert asked.wait(10)
        with pytest.raises((OSError, http.client.HTTPException)):
            post(port, BODY, **GOOD)
        go.set()
        waiting.join()
    assert found == [403]


def test_a_request_has_to_be_there_in_a_few_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PATIENCE_S < https_listener.SILENCE_S
    monkeypatch.setattr(vpn_door, "PATIENCE_S", 0.2)
    with door(tmp_path, say_nothing) as port, slow(port, "127.0.0.1") as own:
        # Long before its silence would end it.
        own.settimeout(5)
        assert own.recv(1) == b""


def test_what_is_no_question_takes_nobody_s_turn(tmp_path: Path) -> None:
    answer = json.dumps({"status": 403, "body": {"error": "no"}}).encode()
    with door(tmp_path, lambda _question: answer) as port:
        found = {post(port, BODY)[0] for _ in range(int(SENDER_AT_ONCE) + 5)}
        assert (found, post(port, BODY, **GOOD)[0]) == ({401}, 403)


def test_slow_connections_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https_listener, "SILENCE_S", 0.2)
    monkeypatch.setattr(https_listener.HttpConnection, "timeout", 0.2)
    with door(tmp_path, say_nothing) as port, socket.create_connection(("127.0.0.1", port), timeout=30) as plain:
        assert plain.recv(1) == b""
