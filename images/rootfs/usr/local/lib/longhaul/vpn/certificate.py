"""Certificate of a laptop. It is made for the key in a request; the rest of the request is ignored."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from contract.lifetimes import CLOCK_SKEW
from contract.vpn import MARK

Key: TypeAlias = "ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey"


class RequestError(ValueError):
    """Raised if the request is malformed, or its key is not accepted. The message says why."""


@dataclass(frozen=True, kw_only=True)
class Signer:
    """An authority with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def parse(cls, pem: str) -> Signer:
        """Parse a text with a certificate and its key. Raise ``ValueError`` if the certificate or the key is missing or
        malformed."""
        key = serialization.load_pem_private_key(pem[pem.index("-----BEGIN PRIVATE KEY") :].encode(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the authority's key is not one of an elliptic curve")
        return cls(certificate=x509.load_pem_x509_certificate(pem.encode()), key=key)

    @property
    def pem(self) -> str:
        """The certificate, PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @staticmethod
    def _subject(name: str, key: Key) -> Iterator[x509.NameAttribute[str]]:
        yield x509.NameAttribute(NameOID.COMMON_NAME, name)
        public = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        yield x509.NameAttribute(NameOID.USER_ID, hashlib.sha256(public).hexdigest()[:MARK])

    def sign(self, key: Key, *, name: str, now: datetime, until: datetime) -> str:
        """Return a client certificate, PEM, for the person ``name`` and the laptop with the key ``key``."""
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=False,
            crl_sign=False,
            encipher_only=False,
            decipher_only=False,
        )
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([*self._subject(name, key)]))
            .issuer_name(self.certificate.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_SKEW)
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(issuer, critical=False)
        )
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


def key_of(request: str) -> Key:
    """Return the key in a PKCS#10 request, PEM. Raise ``RequestError`` if the key is not accepted or has not signed the
    request. The request's subject and extensions are ignored."""
    try:
        parsed = x509.load_pem_x509_csr(request.encode())
        key = parsed.public_key()
        signed = parsed.is_signature_valid
    except Exception:  # noqa: BLE001  (a stranger wrote it: whatever the library makes of it, it is no request)
        raise RequestError("write a certificate request in PEM as `csr`") from None
    taken = isinstance(key, ed25519.Ed25519PublicKey) or (
        isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)
    )
    if not taken:
        raise RequestError("make the key an EC P-256 or an Ed25519 one")
    if not signed:
        raise RequestError("sign the request with its own key")
    return key  # type: ignore[return-value]


def end(now: datetime, *, hours: float, token_ends: float) -> datetime:
    """Return the expiry of a certificate that is made at ``now``: after ``hours``, but not later than the token's
    expiry."""
    return min(now + timedelta(hours=hours), datetime.fromtimestamp(token_ends, UTC)).replace(microsecond=0)
