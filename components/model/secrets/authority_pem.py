"""Certificates of authorities in PEM that the environment's file names: what is one, and until when."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from clouds.base.inputs import PRIVATE_KEY

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_CERTIFICATES = re.compile(
    r"\s*(-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\s]+\n-----END CERTIFICATE-----\s*)+", re.ASCII
)


def authority_fault(text: str) -> str:
    """Return what is wrong with a text; empty when it is the certificates of authorities in PEM, and nothing else. None
    of it is shown: it may be a private key."""
    if PRIVATE_KEY.search(text):
        return "holds a private key, which is nobody's but the authority's"
    try:
        certificates = _read(text)
    except ValueError:
        return "is not certificates in PEM, line by line (`|` after the key keeps the lines), and nothing else"
    strangers = [str(number) for number, certificate in enumerate(certificates, 1) if not signs(certificate)]
    return f"holds what is no authority's certificate (CA:TRUE): number {', '.join(strangers)}" if strangers else ""


def last_days(text: str) -> list[date]:
    """Return the last day of each certificate, in UTC and in the text's order; none for a text that cannot be read."""
    try:
        return [certificate.not_valid_after_utc.date() for certificate in _read(text)]
    except ValueError:
        return []


def _read(text: str) -> list[Certificate]:
    if not _CERTIFICATES.fullmatch(text):
        raise ValueError("no certificates in PEM")
    return certificates_in(text)


def certificates_in(text: str) -> list[Certificate]:
    """Return the certificates in a text, whatever else is in it. ``ValueError`` when there is none, or one of them
    cannot be read."""
    # Loaded here: the library takes long to load.
    from cryptography import x509

    try:
        certificates = x509.load_pem_x509_certificates(text.encode())
        for certificate in certificates:
            # Read when they are first asked for.
            _ = certificate.extensions
    except (x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise ValueError(str(error)) from error
    return certificates


def signs(certificate: Certificate) -> bool:
    """Return whether it may sign for others (RFC 5280, 4.2.1.3 and 4.2.1.9)."""
    from cryptography.x509 import BasicConstraints, KeyUsage

    values = [extension.value for extension in certificate.extensions]
    authority = any(isinstance(value, BasicConstraints) and value.ca for value in values)
    return authority and all(value.key_cert_sign for value in values if isinstance(value, KeyUsage))
