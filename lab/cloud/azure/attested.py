"""Attested data: facts about a machine, signed by the metadata service.

learn.microsoft.com/azure/virtual-machines/instance-metadata-service, "Attested data". The signer's name is Azure's; its
certificate is from the lab's CA, which only the lab's machines trust.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs7

from lab.cloud.pki import ensure_signer

SIGNER = "metadata.azure.com"
LIFE = datetime.timedelta(hours=6)
NONCE = re.compile(r"[0-9]{10}")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about a machine to be signed."""

    vm_id: str
    subscription: str
    size: str


class Attester:
    """Signs with a certificate of the CA in ``folder``; the certificate is made at the first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def document(self, facts: Facts, *, nonce: str | None, now: datetime.datetime | None = None) -> dict[str, str]:
        """Return the service's answer.

        Raises:
            ValueError: the nonce is not ten digits.
        """
        created = now or datetime.datetime.now(datetime.UTC)
        if nonce is not None and not NONCE.fullmatch(nonce):
            raise ValueError("nonce must be ten digits")
        content = {
            "licenseType": "",
            "nonce": nonce or _text(created).replace(" -0000", "Z"),
            "plan": {"name": "", "product": "", "publisher": ""},
            "sku": facts.size,
            "subscriptionId": facts.subscription,
            "timeStamp": {"createdOn": _text(created), "expiresOn": _text(created + LIFE)},
            "vmId": facts.vm_id,
        }
        return {"encoding": "pkcs7", "signature": base64.b64encode(self._signed(json.dumps(content).encode())).decode()}

    def _signed(self, content: bytes) -> bytes:
        paths = ensure_signer(self._folder, SIGNER)
        certificate = x509.load_pem_x509_certificate(paths.server_certificate.read_bytes())
        key = serialization.load_pem_private_key(paths.server_key.read_bytes(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{paths.server_key} does not hold the key that the lab made; remove its folder")
        builder = pkcs7.PKCS7SignatureBuilder().set_data(content).add_signer(certificate, key, hashes.SHA256())
        return builder.sign(serialization.Encoding.DER, [pkcs7.PKCS7Options.Binary])


def _text(moment: datetime.datetime) -> str:
    return moment.strftime("%m/%d/%y %H:%M:%S -0000")
