"""Azure's attested documents: JSON in a PKCS#7 signature, made for one machine by the metadata service of its host
(learn.microsoft.com, "Azure Instance Metadata Service for virtual machines", Attested data).

The document contains the signer's certificate, but not the issuer's. The machine sends the issuer's certificate along,
which counts only if it leads to one of the system's authorities. openssl checks the signature and the certificates,
because no Python library checks such a signature.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from contract.certificate_requests import UNREADABLE, RefusedError
from contract.json_object import json_object

ROOTS = Path("/etc/ssl/certs/ca-certificates.crt")

TIMEOUT_S = 10.0

_SIGNER = re.compile(r"([a-z0-9-]+\.)*metadata\.azure\.com")
"""Names of the signer in Azure's public cloud (same page): ``metadata.azure.com``, or any name below it."""

_CREATED = "%m/%d/%y %H:%M:%S %z"


@dataclass(frozen=True, kw_only=True)
class AttestedDocument:
    """Azure's statement about a machine."""

    machine: str
    """The machine's vmId."""
    subscription: str
    nonce: str
    created: datetime


def verified(signature: bytes, chain: Sequence[str], *, roots: Path = ROOTS) -> AttestedDocument:
    """Return the document in ``signature`` (DER). ``chain`` has the certificates between the signer's certificate and
    an authority, PEM. Raise ``RefusedError`` if Azure has not signed the document."""
    with tempfile.TemporaryDirectory() as folder:
        signer, between = Path(folder, "signer.pem"), Path(folder, "between.pem")
        between.write_text("".join(chain))
        content = _openssl("cms", "-verify", "-noverify", "-inform", "DER", "-signer", str(signer), given=signature)
        _check_signer(signer)
        only = ["-CAfile", str(roots), "-no-CApath", "-no-CAstore"]
        extra = ["-untrusted", str(between)] if chain else []
        _openssl("verify", *only, *extra, "-purpose", "sslserver", str(signer))
    return _document(content)


def _openssl(*arguments: str, given: bytes = b"") -> bytes:
    try:
        done = subprocess.run(
            ["/usr/bin/openssl", *arguments], input=given, capture_output=True, timeout=TIMEOUT_S, check=True
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        step = "signature is wrong" if arguments[0] == "cms" else "signer is vouched for by no authority that we know"
        raise RefusedError("ForgedProof", f"the attested document's {step}") from None
    return done.stdout


def _check_signer(path: Path) -> None:
    """Refuse the document unless it has exactly one signer, with a name of Azure's metadata service."""
    try:
        text = path.read_bytes()
        certificate = x509.load_pem_x509_certificate(text)
        [common] = [str(each.value) for each in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    except (OSError, *UNREADABLE):
        raise RefusedError("ForgedProof", "the attested document's signer cannot be read") from None
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        known = [common, *names.get_values_for_type(x509.DNSName)]
    except (x509.ExtensionNotFound, *UNREADABLE):
        known = [common]
    if text.count(b"BEGIN CERTIFICATE") != 1 or not any(_SIGNER.fullmatch(name) for name in known):
        raise RefusedError("ForgedProof", "the attested document is not signed by Azure's metadata service")


def _document(content: bytes) -> AttestedDocument:
    try:
        fields = json_object(content)
        created = datetime.strptime(str(fields["timeStamp"]["createdOn"]), _CREATED).astimezone(UTC)
        document = AttestedDocument(
            machine=str(fields["vmId"]).lower(),
            subscription=str(fields["subscriptionId"]).lower(),
            nonce=str(fields["nonce"]),
            created=created,
        )
    except (ValueError, KeyError, TypeError):
        raise RefusedError("Malformed", "the attested document lacks what it should say") from None
    if not document.machine:
        raise RefusedError("Malformed", "the attested document names no machine")
    return document
