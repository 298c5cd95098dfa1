"""Making keys and certificates; no Pulumi, no network. Keys are ECDSA P-256, files are PEM."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from components.model import Certificate
from contract.lifetimes import CLOCK_SKEW, RENEW_BELOW

Key = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey
"""Public keys of certificates."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Content of a certificate."""

    common_name: str
    organizations: Sequence[str] = ()
    dns_names: Sequence[str] = ()
    addresses: Sequence[str] = ()
    usages: Sequence[str] = ()
    """``server``, ``client`` or both."""
    user_id: str = ""
    """Mark of a laptop's key (a prefix of :func:`fingerprint`); empty for other keys."""
    days: float


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A certificate and its private key, PEM."""

    certificate: str
    key: str


def subject_of(certificate: Certificate) -> Subject:
    """Return the content of a planned certificate."""
    return Subject(
        common_name=certificate.common_name,
        organizations=list(certificate.organizations),
        dns_names=list(certificate.dns_names),
        addresses=[str(address) for address in certificate.addresses],
        usages=[str(usage) for usage in certificate.usages],
        days=certificate.days,
    )


def secret_value(pair: Pair, authority: Pair) -> str:
    """Return the value of a certificate's secret in the vault."""
    return json.dumps({"certificate": pair.certificate, "key": pair.key, "issuer": authority.certificate})


def new_key() -> str:
    """Return a new ECDSA P-256 private key, PKCS#8 PEM."""
    return _key_pem(ec.generate_private_key(ec.SECP256R1()))


def public_key(key: str) -> str:
    """Return the public key (PEM, SubjectPublicKeyInfo) of a private one."""
    public = _private_key(key).public_key()
    return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def new_encryption_key() -> str:
    """Return a new key of 32 random bytes, base64."""
    return base64.b64encode(secrets.token_bytes(32)).decode()


def new_tunnel_key() -> str:
    """Return a pre-shared key of 254 random bits that every cloud accepts: letters and digits only, because Azure
    accepts no hyphen; 64 characters without a leading zero, because of AWS (docs.aws.amazon.com, "Tunnel options for
    your AWS Site-to-Site VPN connection")."""
    return secrets.choice("abcdef") + secrets.token_hex(32)[1:]


def new_static_key() -> str:
    """Return a static key of OpenVPN: 256 random bytes (OpenVPN 2.6, src/openvpn/crypto.c, ``write_key_file``)."""
    text = secrets.token_hex(256)
    lines = [text[start : start + 32] for start in range(0, len(text), 32)]
    return "\n".join(("-----BEGIN OpenVPN Static key V1-----", *lines, "-----END OpenVPN Static key V1-----", ""))


def new_authority(*, common_name: str, days: float, key: str) -> Pair:
    """Return a self-signed authority with the private key ``key`` (PEM). It may sign leaf certificates, but no further
    authorities."""
    private = _private_key(key)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    builder = _builder(name, name, private.public_key(), days=days)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_key_usage(authority=True), critical=True)
    certificate = builder.sign(private, hashes.SHA256())
    return Pair(certificate=_certificate_pem(certificate), key=key)


def issue(subject: Subject, *, authority: Pair) -> Pair:
    """Return a new key and a certificate for it, signed by ``authority``."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Pair(certificate=sign(subject, key.public_key(), authority=authority), key=_key_pem(key))


def sign(subject: Subject, key: Key, *, authority: Pair) -> str:
    """Return a certificate for a public key, signed by ``authority``."""
    issuer_key = _private_key(authority.key)
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    builder = _builder(_name(subject), issuer.subject, key, days=subject.days)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_key_usage(authority=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([_usage(usage) for usage in subject.usages]), critical=False)
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = builder.add_extension(issuer_id, critical=False)
    names = _alternative_names(subject)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _certificate_pem(builder.sign(issuer_key, hashes.SHA256()))


def requested_key(request: str) -> Key:
    """Return the public key of a request (PKCS#10, PEM). Raise ``ValueError`` unless the key is EC P-256 or Ed25519 and
    has signed the request. The request's subject and extensions are ignored."""
    parsed = x509.load_pem_x509_csr(request.encode())
    key = parsed.public_key()
    p256 = isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)
    if not (p256 or isinstance(key, ed25519.Ed25519PublicKey)) or not parsed.is_signature_valid:
        raise ValueError("its key is neither EC P-256 nor Ed25519, or it is not signed with its own key")
    return key  # type: ignore[return-value]


def due(certificate: str, *, now: datetime) -> bool:
    """Return whether less than a third of a certificate's life is left at ``now``."""
    parsed = x509.load_pem_x509_certificate(certificate.encode())
    lifetime = parsed.not_valid_after_utc - parsed.not_valid_before_utc
    return parsed.not_valid_after_utc - now < lifetime * RENEW_BELOW


def expiry(certificate: str) -> str:
    """Return a certificate's expiry time, ISO 8601 in UTC."""
    return x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc.isoformat()


def common_name(certificate: str) -> str:
    """Return the common name of a certificate's subject; empty without one."""
    names = x509.load_pem_x509_certificate(certificate.encode()).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def key_fingerprint(certificate: str) -> str:
    """Return the SHA-256 of a certificate's public key (SubjectPublicKeyInfo, DER), hexadecimal."""
    return fingerprint(x509.load_pem_x509_certificate(certificate.encode()).public_key())


def fingerprint(public: PublicKeyTypes) -> str:
    """Return the SHA-256 of a public key (SubjectPublicKeyInfo, DER), hexadecimal."""
    encoded = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).hexdigest()


def certificates_in(text: str) -> tuple[str, ...]:
    """Return the certificates in a PEM text, each as PEM; none for an empty text."""
    certificates = x509.load_pem_x509_certificates(text.encode()) if text.strip() else []
    return tuple(map(_certificate_pem, certificates))


def is_issued_by(certificate: str, authority: str) -> bool:
    """Return whether a certificate names an authority as its issuer and is signed by the authority's key."""
    try:
        parsed = x509.load_pem_x509_certificate(certificate.encode())
        parsed.verify_directly_issued_by(x509.load_pem_x509_certificate(authority.encode()))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _private_key(pem: str) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem.encode(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("not an elliptic curve key")
    return key


def _builder(subject: x509.Name, issuer: x509.Name, public_key: Key, *, days: float) -> x509.CertificateBuilder:
    start = datetime.now(UTC) - CLOCK_SKEW
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public_key)
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(start)
    builder = builder.not_valid_after(start + CLOCK_SKEW + timedelta(days=days))
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)


def _name(subject: Subject) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in subject.organizations]
    marks = [x509.NameAttribute(NameOID.USER_ID, subject.user_id)] if subject.user_id else []
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, subject.common_name), *marks])


def _alternative_names(subject: Subject) -> list[x509.GeneralName]:
    addresses = [x509.IPAddress(ip_address(address)) for address in subject.addresses]
    return [*(x509.DNSName(name) for name in subject.dns_names), *addresses]


def _usage(usage: str) -> x509.ObjectIdentifier:
    return {"server": ExtendedKeyUsageOID.SERVER_AUTH, "client": ExtendedKeyUsageOID.CLIENT_AUTH}[usage]


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _certificate_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
