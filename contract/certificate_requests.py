"""Parsing of a CertificateSigningRequest."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from contract.annotations import PROVED_MACHINE, PROVED_SITE
from contract.kubernetes.connection import Object
from contract.users import (
    BOOTSTRAPPERS,
    CLIENT_SIGNER,
    JOIN_USER,
    NODE_USER,
    NODES_GROUP,
    SERVING_SIGNER,
)

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

SIGNERS = (CLIENT_SIGNER, SERVING_SIGNER)
"""Signers whose requests the node controller handles (kubernetes.io, "Certificates and Certificate Signing
Requests")."""

BOOTSTRAP = "system:bootstrap:"
HOST = f"{BOOTSTRAPPERS}:host:"
"""Prefix of the second group that a host's bootstrap token gives; the host's name follows. The API server writes the
client's groups into the request, so nobody needs to read the token."""


USAGES = {CLIENT_SIGNER: "client auth", SERVING_SIGNER: "server auth"}

EXTENSIONS = x509.ObjectIdentifier("1.2.840.113549.1.9.14")
"""Attribute of a request with the requested extensions (RFC 2985, 5.4.2)."""

RSA_BITS = 2048

LONGEST_NAME = 64 - len(NODE_USER)
"""Longest Node name in characters: a common name has at most 64 (RFC 5280, A.1, ``ub-common-name``)."""

UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    InvalidSignature,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""Exceptions from reading an untrusted request or certificate. Some are raised only when a part is accessed."""

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


class RefusedError(Exception):
    """Raised for a request that will never be granted. ``reason`` is one word, the text says what is wrong."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class Attested:
    """Identity of the requesting machine, as proved by its cloud."""

    site: str
    machine: str
    """Name of the machine in its cloud: ``Machine.identity``."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """Contents of a request, before any of it is trusted."""

    name: str
    signer: str
    user: str
    groups: frozenset[str]
    node: str
    """Name of the Node in the request's subject."""
    key: PublicKey
    dns_names: frozenset[str]
    addresses: frozenset[str]
    attested: Attested | None = None
    """Proved identity, for a request that the join endpoint made."""

    @property
    def joining(self) -> bool:
        """Return whether this is a machine's first request, which the join endpoint makes for the machine, or the
        machine makes with a bootstrap token."""
        return self.attested is not None or bool(self.token)

    @property
    def token(self) -> str:
        """Return the id of the bootstrap token with which the request was made; empty without a token."""
        return self.user.removeprefix(BOOTSTRAP) if self.user.startswith(BOOTSTRAP) else ""

    @property
    def host(self) -> str:
        """Return the name of the host to which the bootstrap token belongs; empty without a token, and if the request's
        groups do not name exactly one host."""
        names = [group.removeprefix(HOST) for group in self.groups if group.startswith(HOST)]
        return names[0] if self.token and BOOTSTRAPPERS in self.groups and len(names) == 1 else ""

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the request's key."""
        return fingerprint(self.key)


def fingerprint(key: PublicKey) -> str:
    """Return the SHA-256 of a key, hexadecimal."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(serialization.Encoding.DER, form)).hexdigest()


def parse(document: Object) -> Request:
    """Parse the request in ``document``. Raise ``RefusedError`` if the request's content alone is a reason to refuse
    it. The API server accepts more forms than this library, so a request that the API server has accepted may be
    unreadable here."""
    try:
        return _parse(document)
    except UNREADABLE as error:
        raise RefusedError("Malformed", f"not a PKCS#10 request that can be read: {error}") from None


def _parse(document: Object) -> Request:
    spec = document["spec"]
    signer = spec["signerName"]
    inside = _load(spec["request"])
    key = _key(inside)
    _check_usages(signer, spec.get("usages", []), key)
    node = _subject(inside)
    dns_names, addresses = _names(inside)
    if signer == CLIENT_SIGNER and (dns_names or addresses):
        raise RefusedError("WrongSubject", "a client's certificate has no alternative names")
    return Request(
        name=document["metadata"]["name"],
        signer=signer,
        user=spec.get("username", ""),
        groups=frozenset(spec.get("groups", [])),
        node=node,
        key=key,
        dns_names=dns_names,
        addresses=addresses,
        attested=_attested(document),
    )


def _attested(document: Object) -> Attested | None:
    if document["spec"].get("username") != JOIN_USER:
        return None
    notes = document["metadata"].get("annotations", {})
    return Attested(site=notes.get(PROVED_SITE, ""), machine=notes.get(PROVED_MACHINE, ""))


def condition(document: Object, kind: str) -> dict[str, Any] | None:
    """Return a condition of a request (``Approved``, ``Denied`` or ``Failed``), or None."""
    conditions = document.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each.get("type") == kind), None)


def issued(document: Object) -> bool:
    """Return whether the request has its certificate."""
    return bool(document.get("status", {}).get("certificate"))


def _load(encoded: str) -> x509.CertificateSigningRequest:
    """Return the request. The signer parses the same text with Go's library, so any text that the two libraries could
    parse differently is refused: more than one block, another form of PEM or DER, extensions in two attributes, and
    extensions in Microsoft's attribute (this library reads the first attribute, Go's reads all standard ones)."""
    text = base64.b64decode(encoded)
    request = x509.load_pem_x509_csr(text)
    if request.public_bytes(serialization.Encoding.PEM).strip() != text.strip():
        raise RefusedError("Malformed", "not one PEM block in its plain form, and nothing else")
    if [each.oid for each in request.attributes] not in ([], [EXTENSIONS]):
        raise RefusedError("Malformed", "has other attributes than the one for requested extensions")
    if not request.is_signature_valid:
        raise RefusedError("Malformed", "not signed with the key that it names")
    return request


def _key(inside: x509.CertificateSigningRequest) -> PublicKey:
    try:
        key = inside.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise RefusedError("WeakKey", f"its key cannot be read: {error}") from None
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in ("secp256r1", "secp384r1", "secp521r1"):
        return key
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= RSA_BITS:
        return key
    raise RefusedError("WeakKey", f"its key is neither ECDSA on a NIST curve nor RSA of {RSA_BITS} bits or more")


def _check_usages(signer: str, usages: list[str], key: PublicKey) -> None:
    wanted = {"digital signature", USAGES[signer]}
    allowed = [wanted, wanted | {"key encipherment"}] if isinstance(key, rsa.RSAPublicKey) else [wanted]
    if set(usages) not in allowed:
        raise RefusedError(
            "WrongUsages", f"asks for {', '.join(sorted(usages))}; {signer} gives {', '.join(sorted(wanted))}"
        )


def _subject(inside: x509.CertificateSigningRequest) -> str:
    """Return the Node's name. The subject must consist of this name and the group of nodes."""
    parts = [(each.oid, str(each.value)) for each in inside.subject]
    organizations = [value for oid, value in parts if oid == NameOID.ORGANIZATION_NAME]
    names = [value for oid, value in parts if oid == NameOID.COMMON_NAME]
    good = len(parts) == 2 and organizations == [NODES_GROUP] and len(names) == 1 and names[0].startswith(NODE_USER)
    node = names[0].removeprefix(NODE_USER) if good else ""
    if not node:
        raise RefusedError(
            "WrongSubject",
            f"its subject is {inside.subject.rfc4514_string()}, not CN={NODE_USER}<name>,O={NODES_GROUP}",
        )
    _check_length(node)
    return node


def _check_length(node: str) -> None:
    if len(node) > LONGEST_NAME:
        raise RefusedError("WrongSubject", f"{node} has more than {LONGEST_NAME} characters: it needs a shorter name")


def _names(inside: x509.CertificateSigningRequest) -> tuple[frozenset[str], frozenset[str]]:
    """Return the DNS names and the addresses. Raise ``RefusedError`` for any other kind of name."""
    try:
        extension = inside.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset(), frozenset()
    if not all(isinstance(each, x509.DNSName | x509.IPAddress) for each in extension):
        raise RefusedError("WrongSubject", "asks for alternative names that are neither DNS names nor addresses")
    dns_names = extension.get_values_for_type(x509.DNSName)
    return frozenset(dns_names), frozenset(str(each) for each in extension.get_values_for_type(x509.IPAddress))
