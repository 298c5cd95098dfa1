"""PEM certificates of authorities in the environment's file: checks of their form, and their last days."""

from __future__ import annotations

import re
from datetime import date
from ipaddress import IPv4Address, IPv4Network
from typing import TYPE_CHECKING

from clouds.base.inputs import PRIVATE_KEY

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, GeneralName, NameConstraints

_CERTIFICATES = re.compile(
    r"\s*(-----BEGIN CERTIFICATE-----\r?\n[A-Za-z0-9+/=\s]+\n-----END CERTIFICATE-----\s*)+", re.ASCII
)


def authority_fault(text: str) -> str:
    """Return the fault of a text; empty when the text has only authorities' certificates in PEM. The fault does not
    quote the text, which may be a private key."""
    if PRIVATE_KEY.search(text):
        return "holds a private key, which only the authority may have"
    try:
        certificates = _read(text)
    except ValueError:
        return "is not certificates in PEM, line by line (`|` after the key keeps the lines), and nothing else"
    strangers = [str(number) for number, certificate in enumerate(certificates, 1) if not signs(certificate)]
    return (
        f"holds certificates that are not an authority's (CA:TRUE): number {', '.join(strangers)}" if strangers else ""
    )


def last_days(text: str) -> list[date]:
    """Return the last day of each certificate, in UTC and in the text's order; none for a text that cannot be read."""
    try:
        return [certificate.not_valid_after_utc.date() for certificate in _read(text)]
    except ValueError:
        return []


def admits(text: str, host: str) -> bool:
    """Return whether some authority in a text may sign for a server's name or IPv4 address: its name constraints admit
    it (RFC 5280, 4.2.1.10). True for a text that cannot be read."""
    from cryptography.x509 import NameConstraints

    try:
        certificates = _read(text)
    except ValueError:
        return True
    constraints = (
        [extension.value for extension in certificate.extensions if isinstance(extension.value, NameConstraints)]
        for certificate in certificates
    )
    return any(all(_permits(each, host) for each in of_one) for of_one in constraints)


def _permits(constraints: NameConstraints, host: str) -> bool:
    from cryptography.x509 import DNSName, IPAddress

    try:
        address: IPv4Address | None = IPv4Address(host)
    except ValueError:
        address = None

    def holds(name: GeneralName) -> bool:
        if address is not None:
            return isinstance(name, IPAddress) and isinstance(name.value, IPv4Network) and address in name.value
        base = name.value.lower() if isinstance(name, DNSName) else "."
        return host == base or host.endswith(f".{base.removeprefix('.')}")

    kind = DNSName if address is None else IPAddress
    permitted = [name for name in constraints.permitted_subtrees or () if isinstance(name, kind)]
    excluded = [name for name in constraints.excluded_subtrees or () if isinstance(name, kind)]
    return (not permitted or any(map(holds, permitted))) and not any(map(holds, excluded))


def _read(text: str) -> list[Certificate]:
    if not _CERTIFICATES.fullmatch(text):
        raise ValueError("no certificates in PEM")
    return certificates_in(text)


def certificates_in(text: str) -> list[Certificate]:
    """Return the certificates in a text, and ignore the rest of it. Raise ``ValueError`` when it has none, or one
    cannot be read."""
    # Imported here: the library loads slowly.
    from cryptography import x509

    try:
        certificates = x509.load_pem_x509_certificates(text.encode())
        for certificate in certificates:
            # Extensions are parsed when they are first read.
            _ = certificate.extensions
    except (x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise ValueError(str(error)) from error
    return certificates


def signs(certificate: Certificate) -> bool:
    """Return whether a certificate may sign others (RFC 5280, 4.2.1.3 and 4.2.1.9)."""
    from cryptography.x509 import BasicConstraints, KeyUsage

    values = [extension.value for extension in certificate.extensions]
    authority = any(isinstance(value, BasicConstraints) and value.ca for value in values)
    return authority and all(value.key_cert_sign for value in values if isinstance(value, KeyUsage))
