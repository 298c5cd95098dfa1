"""Proofs of a machine's identity, made from data that the cloud's metadata service gives only to this machine."""

from __future__ import annotations

import base64
import http.client
import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import AuthorityInformationAccessOID
from join_endpoint.protocol import STS_FORM, bound, sts_url
from machine import sigv4
from machine.cloud_token import AUDIENCE
from machine.managed_identity import OwnIdentity
from machine.metadata import AZURE_VERSION, METADATA, TOKEN_LIFE_S, NotYetError, ask

from node.attest import JoinError, ProofRequest, Prove

CHAIN = 2
"""Largest number of certificates to fetch between the signer's certificate and an authority. In practice there is
one."""

CERTIFICATE = 16 * 1024
"""Largest size of a fetched certificate in bytes."""


def prover(kind: str, *, metadata: str = METADATA) -> Prove:
    """Return the function that makes proofs for a machine on a site of ``kind``. Raise ``ValueError`` if there is
    none."""
    known = {"aws": aws, "azure": azure}
    if kind not in known:
        raise ValueError(f"node.json: a machine on a site of kind {kind!r} cannot prove itself to the join service")
    return partial(known[kind], metadata=metadata)


def aws(asked: ProofRequest, *, metadata: str) -> Mapping[str, object]:
    """Return a signed ``GetCallerIdentity``, which only STS can verify. The signing secret stays on this machine."""
    try:
        life = {"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_LIFE_S)}
        token_header = {"X-aws-ec2-metadata-token": ask(f"{metadata}/latest/api/token", headers=life, method="PUT")}
        region = ask(f"{metadata}/latest/meta-data/placement/region", headers=token_header).strip()
        folder = f"{metadata}/latest/meta-data/iam/security-credentials/"
        role = ask(folder, headers=token_header).split()[0]
        given = json.loads(ask(folder + urllib.parse.quote(role), headers=token_header))
        credentials = sigv4.Credentials(
            key=given["AccessKeyId"], secret=given["SecretAccessKey"], session=given["Token"]
        )
    except (NotYetError, ValueError, KeyError, IndexError, TypeError) as error:
        raise JoinError(f"the machine's credentials: {_safe(error)}") from None
    headers = sigv4.headers(
        sts_url(region),
        STS_FORM,
        region=region,
        service="sts",
        credentials=credentials,
        now=datetime.now(UTC),
        more=bound(cluster=asked.cluster, fingerprint=asked.fingerprint, challenge=asked.challenge),
    )
    return {
        "kind": "aws",
        "region": region,
        "date": headers["X-Amz-Date"],
        "session": headers["X-Amz-Security-Token"],
        "authorization": headers["Authorization"],
    }


def azure(asked: ProofRequest, *, metadata: str) -> Mapping[str, object]:
    """Return the attested document, which contains the challenge, and the token of the scale set's identity."""
    header = {"Metadata": "true"}
    document = {"api-version": AZURE_VERSION, "nonce": asked.challenge}
    try:
        attested = json.loads(ask(_url(metadata, "attested/document", document), headers=header))
        access = OwnIdentity(audience=AUDIENCE, metadata=metadata).token()
        signature = str(attested["signature"])
        chain = list(_chain(base64.b64decode(signature)))
    except (NotYetError, ValueError, KeyError, TypeError) as error:
        raise JoinError(f"the machine's attested document and token: {_safe(error)}") from None
    return {"kind": "azure", "document": signature, "chain": chain, "token": access}


def _url(metadata: str, path: str, query: Mapping[str, str]) -> str:
    return f"{metadata}/metadata/{path}?{urllib.parse.urlencode(query)}"


def _chain(signature: bytes) -> Iterator[str]:
    """Yield the certificates between the signer's certificate and an authority, which the document lacks. Each
    certificate names the address of its issuer's certificate. The certificates are public, and the join endpoint
    verifies them, so they may come over plain HTTP, as intended (RFC 5280, 4.2.2.1)."""
    certificates = pkcs7.load_der_pkcs7_certificates(signature)
    current = certificates[0] if certificates else None
    for _ in range(CHAIN):
        url = _issuer_url(current) if current is not None else ""
        if not url:
            return
        current = _fetch(url)
        if current is None or current.issuer == current.subject:
            return
        yield current.public_bytes(serialization.Encoding.PEM).decode()


def _issuer_url(certificate: x509.Certificate) -> str:
    try:
        access = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except x509.ExtensionNotFound:
        return ""
    places = [each for each in access if each.access_method == AuthorityInformationAccessOID.CA_ISSUERS]
    urls = [str(each.access_location.value) for each in places]
    return next((url for url in urls if url.startswith("http://")), "")


def _fetch(url: str) -> x509.Certificate | None:
    """Return the certificate at an address, or None if it cannot be fetched. The join endpoint then refuses the
    incomplete chain."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5.0) as response:
            return x509.load_der_x509_certificate(response.read(CERTIFICATE))
    except (OSError, http.client.HTTPException, ValueError, x509.InvalidVersion):
        return None


def _safe(error: Exception) -> Any:
    """Return the error without text from the metadata service, which may contain a secret."""
    return error if isinstance(error, NotYetError) else type(error).__name__
