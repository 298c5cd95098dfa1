"""Checks of a request's own content, without knowledge of the requester's machine."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from contract import certificate_requests as request
from contract.certificate_requests import RefusedError, parse
from tests.images import kubelets
from tests.images.fake_api import NODE
from tests.images.kubelets import SERVING

ADDRESS = "10.65.128.4"


def says(document: dict[str, Any]) -> str:
    """Return the reason for which its content alone is refused."""
    with pytest.raises(RefusedError) as caught:
        parse(document)
    return caught.value.reason


def client(node: str = NODE, own: kubelets.Key | None = None, **more: Any) -> dict[str, Any]:
    return kubelets.document(kubelets.csr(node, own or kubelets.key(), **more))


def organization(value: str) -> tuple[x509.ObjectIdentifier, str]:
    return (NameOID.ORGANIZATION_NAME, value)


def common_name(value: str) -> tuple[x509.ObjectIdentifier, str]:
    return (NameOID.COMMON_NAME, value)


@pytest.mark.parametrize(
    "subject",
    [
        [common_name(f"system:node:{NODE}")],
        [organization("system:nodes")],
        [organization("system:masters"), common_name(f"system:node:{NODE}")],
        [organization("system:nodes"), organization("system:masters"), common_name(f"system:node:{NODE}")],
        [organization("system:nodes"), common_name(NODE)],
        [organization("system:nodes"), common_name("system:node:")],
        [organization("system:nodes"), common_name(f"system:node:{NODE}"), common_name("system:admin")],
        [organization("system:nodes"), common_name(f"system:node:{NODE}"), (NameOID.ORGANIZATIONAL_UNIT_NAME, "x")],
    ],
)
def test_the_subject_is_a_node_s_and_nothing_else(subject: list[Any]) -> None:
    assert says(kubelets.by_token(client(subject=subject))) == "WrongSubject"


def test_a_client_has_no_alternative_names() -> None:
    assert says(kubelets.by_token(client(dns_names=[NODE]))) == "WrongSubject"


@pytest.mark.parametrize(
    "name", [x509.RFC822Name("a@example.com"), x509.UniformResourceIdentifier("spiffe://x/y")], ids=["mail", "uri"]
)
def test_no_other_kind_of_name_is_given(name: x509.GeneralName) -> None:
    asked = kubelets.csr(NODE, kubelets.key(), addresses=[ADDRESS], more_names=[name])
    document = kubelets.document(asked, signer=SERVING)
    assert says(kubelets.by_node(document, NODE)) == "WrongSubject"


@pytest.mark.parametrize(
    "usages",
    [
        ["client auth"],
        ["digital signature", "server auth"],
        ["digital signature", "client auth", "server auth"],
        ["digital signature", "client auth", "cert sign"],
        ["digital signature", "key encipherment", "client auth"],
    ],
)
def test_usages_are_a_kubelet_s(usages: list[str]) -> None:
    document = kubelets.document(kubelets.csr(NODE, kubelets.key()), usages=usages)
    assert says(kubelets.by_token(document)) == "WrongUsages"


@pytest.mark.parametrize(
    "own",
    [
        rsa.generate_private_key(public_exponent=65537, key_size=1024),
        ec.generate_private_key(ec.SECP256K1()),
        ed25519.Ed25519PrivateKey.generate(),
    ],
    ids=["short", "odd curve", "ed25519"],
)
def test_keys_are_strong(own: kubelets.Key) -> None:
    assert says(kubelets.by_token(client(own=own))) == "WeakKey"


@pytest.mark.parametrize("request_", ["", "AAAA", "!!!", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"])
def test_what_cannot_be_read_is_refused(request_: str) -> None:
    assert says(kubelets.by_token(kubelets.document(request_))) == "Malformed"


def changed(pem: bytes, old: bytes, new: bytes) -> dict[str, Any]:
    """Return a request with a part replaced by one of the same length, so that all lengths around it stay correct."""
    body = base64.b64decode(b"".join(pem.splitlines()[1:-1]))
    assert (body.count(old), len(old)) == (1, len(new))
    lines = base64.encodebytes(body.replace(old, new)).decode()
    text = f"-----BEGIN CERTIFICATE REQUEST-----\n{lines}-----END CERTIFICATE REQUEST-----\n"
    return kubelets.by_token(kubelets.document(base64.b64encode(text.encode()).decode()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\x02\x01\x00\x30", b"\x02\x01\x01\x30"),
        (b"\x81\x0dbad@localhost", b"\xa3\x0dbad@localhost"),
        (b"\x0c\x0csystem:nodes", b"\x14\x0csystem:node\xff"),
    ],
    ids=["version", "x400 name", "T61 string"],
)
def test_what_the_api_server_reads_and_we_do_not_is_refused(
    old: bytes, new: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a request can be signed correctly by its maker, so the signature does not reveal it."""
    made = kubelets.csr(NODE, kubelets.key(), more_names=[x509.RFC822Name("bad@localhost")])
    real = x509.load_pem_x509_csr

    class Signed:
        is_signature_valid = True

        def __init__(self, inside: x509.CertificateSigningRequest) -> None:
            self._inside = inside

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inside, name)

    monkeypatch.setattr(x509, "load_pem_x509_csr", lambda pem: Signed(real(pem)))
    assert says(changed(base64.b64decode(made), old, new)) == "Malformed"


def test_a_name_that_no_certificate_can_have() -> None:
    assert parse(kubelets.by_token(client("n" * 52))).node == "n" * 52
    long = kubelets.csr("n" * 52, kubelets.key())
    pem = base64.b64decode(long)
    assert len(x509.load_pem_x509_csr(pem).subject.rfc4514_string()) > 64
    with pytest.raises(RefusedError, match="more than 52 characters"):
        request._check_length("n" * 53)


def test_a_request_is_signed_with_its_own_key() -> None:
    pem = base64.b64decode(kubelets.csr(NODE, kubelets.key()))
    inside = x509.load_pem_x509_csr(pem)
    body = bytearray(base64.b64decode(b"".join(pem.splitlines()[1:-1])))
    body[-1] ^= 1
    assert inside.is_signature_valid
    lines = base64.encodebytes(bytes(body)).decode()
    forged = f"-----BEGIN CERTIFICATE REQUEST-----\n{lines}-----END CERTIFICATE REQUEST-----\n"
    document = kubelets.document(base64.b64encode(forged.encode()).decode())
    assert says(kubelets.by_token(document)) == "Malformed"


def block(own: kubelets.Key) -> bytes:
    return base64.b64decode(kubelets.csr(NODE, own))


def attribute() -> bytes:
    parts = [organization("system:nodes"), common_name(f"system:node:{NODE}")]
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in parts])
    builder = x509.CertificateSigningRequestBuilder(subject).add_attribute(
        x509.ObjectIdentifier("1.3.6.1.4.1.311.2.1.14"), b"read by one library alone"
    )
    return builder.sign(kubelets.key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


OWN = kubelets.key()
READ_DIFFERENTLY = {
    "two": block(OWN) + block(kubelets.key()),
    "text": b"Certificate Request:\n" + block(OWN),
    "other label": block(OWN).replace(b"CERTIFICATE REQUEST", b"NEW CERTIFICATE REQUEST"),
    "lines": block(OWN).replace(b"\n", b"\r\n"),
    "header": block(OWN).replace(b"REQUEST-----\n", b"REQUEST-----\nA: b\n\n", 1),
    "attribute": attribute(),
}


@pytest.mark.parametrize("text", READ_DIFFERENTLY.values(), ids=list(READ_DIFFERENTLY))
def test_what_the_signer_could_read_differently_is_refused(text: bytes) -> None:
    """The signer is another program, which reads the request anew."""
    assert parse(kubelets.by_token(kubelets.document(base64.b64encode(block(OWN)).decode()))).node == NODE
    assert says(kubelets.by_token(kubelets.document(base64.b64encode(text).decode()))) == "Malformed"
