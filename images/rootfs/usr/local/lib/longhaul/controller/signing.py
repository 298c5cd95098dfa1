"""Signing with the nodes' certificate authority."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from controller.request import CLIENT, NODE, NODES, Request

LIFETIME = timedelta(days=30)
"""Lifetime of a node's certificate. It cannot be revoked, so it is short: a stolen one is of use for at most this long,
with Kubernetes' own signer for a year. Kubelets renew at 70 to 90 % (client-go, ``jitteryDuration``), so a node that is
cut off has three days or more; after that a cloud's node joins again by itself, a host with the next `longhaul up`."""

CLOCK_SKEW = timedelta(minutes=5)
"""Time by which a certificate's validity begins early, for machines whose clocks lag; the same for all certificates of
the environment."""


class AuthorityError(Exception):
    """Raised when the authority's file cannot be used."""


class Signer:
    """Signs with the authority, which is read again whenever its file has changed."""

    def __init__(self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path, self._now = path, now
        self._text = b""
        self._loaded: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None = None

    def sign(self, request: Request) -> bytes:
        """Return a certificate for the request, PEM. It is built only from what was checked; nothing else is copied
        from the request."""
        authority, key = self._authority()
        start = self._now() - CLOCK_SKEW
        end = self._now() + min(LIFETIME, timedelta(seconds=request.lifetime_s or LIFETIME.total_seconds()))
        subject = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, NODES),
                x509.NameAttribute(NameOID.COMMON_NAME, f"{NODE}{request.node}"),
            ]
        )
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if request.signer == CLIENT else ExtendedKeyUsageOID.SERVER_AUTH
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(authority.subject)
            .public_key(request.key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(min(end, _end(authority)))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(rsa_key=isinstance(request.key, rsa.RSAPublicKey)), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(request.key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        )
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in sorted(request.dns_names)]
        names += [x509.IPAddress(ip_address(address)) for address in sorted(request.addresses)]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def _authority(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        try:
            text = self._path.read_bytes()
            if self._loaded is None or text != self._text:
                key = serialization.load_pem_private_key(text, password=None)
                certificate = x509.load_pem_x509_certificate(text)
                if not isinstance(key, ec.EllipticCurvePrivateKey):
                    raise AuthorityError(f"{self._path}: not an elliptic curve key")
                self._text, self._loaded = text, (certificate, key)
        except (OSError, ValueError) as error:
            raise AuthorityError(f"{self._path}: {error}") from None
        return self._loaded


def _end(certificate: x509.Certificate) -> datetime:
    """Return the end of the certificate's validity. Debian 12's cryptography has no ``not_valid_after_utc``."""
    end: datetime = getattr(certificate, "not_valid_after_utc", None) or certificate.not_valid_after.replace(tzinfo=UTC)
    return end


def _key_usage(*, rsa_key: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=rsa_key,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
