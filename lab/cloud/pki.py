"""Certificate authority of the lab: it signs the clouds' names, and only the lab's machines and operator trust it."""

from __future__ import annotations

import datetime
import os
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = datetime.timedelta(days=825)
RENEW_BEFORE = datetime.timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class Pki:
    """Paths of the files that the CA made."""

    ca_certificate: Path
    server_certificate: Path
    server_key: Path

    def server_context(self) -> ssl.SSLContext:
        """Return a TLS server context with the clouds' certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.server_certificate, self.server_key)
        return context


def ensure_pki(folder: Path, names: tuple[str, ...]) -> Pki:
    """Return the CA and the server certificate in ``folder``; make them at the first use, before they expire, or when
    the names change."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = Pki(
        ca_certificate=folder / "ca.pem", server_certificate=folder / "server.pem", server_key=folder / "server-key.pem"
    )
    key_path = folder / "ca-key.pem"
    if not (key_path.exists() and _valid(paths.ca_certificate)):
        _make_authority(paths.ca_certificate, key_path)
        paths.server_certificate.unlink(missing_ok=True)
        _signer(folder).server_certificate.unlink(missing_ok=True)
    if not _valid(paths.server_certificate, names):
        issue_server(paths, key_path, names)
    return paths


def ensure_signer(folder: Path, name: str) -> Pki:
    """Return a certificate of ``name`` for signing documents, issued by the CA of :func:`ensure_pki` in ``folder``;
    make it when there is no valid one."""
    paths = _signer(folder)
    if not _valid(paths.server_certificate, (name,)):
        issue_server(paths, folder / "ca-key.pem", (name,))
    return paths


def _signer(folder: Path) -> Pki:
    return Pki(
        ca_certificate=folder / "ca.pem", server_certificate=folder / "signer.pem", server_key=folder / "signer-key.pem"
    )


def _valid(path: Path, names: tuple[str, ...] | None = None) -> bool:
    if not path.exists():
        return False
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    if certificate.not_valid_after_utc - RENEW_BEFORE < datetime.datetime.now(datetime.UTC):
        return False
    if names is None:
        return True
    present = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(present) == {_general(name) for name in names}


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _make_authority(certificate_path: Path, key_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Longhaul lab clouds")])
    builder = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    _write_key(key_path, key)
    _write(certificate_path, builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), mode=0o644)


def issue_server(paths: Pki, ca_key_path: Path, names: tuple[str, ...]) -> None:
    """Make a key and its certificate for ``names``, and write both to their ``paths``. Names may be addresses."""
    ca_key = serialization.load_pem_private_key(ca_key_path.read_bytes(), password=None)
    if not isinstance(ca_key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{ca_key_path} does not hold the key that the lab made; remove its folder and start again")
    ca = x509.load_pem_x509_certificate(paths.ca_certificate.read_bytes())
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    builder = (
        _builder(subject, ca.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
    )
    _write_key(paths.server_key, key)
    _write(
        paths.server_certificate,
        builder.sign(ca_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM),
        mode=0o644,
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFE)
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not sign_certificates,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    _write(path, pem, mode=0o600)


def _write(path: Path, content: bytes, *, mode: int) -> None:
    """Write a new file and rename it, so that a killed daemon leaves no partial file."""
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    beside.replace(path)
