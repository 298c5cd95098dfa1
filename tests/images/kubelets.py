"""Requests of kubelets: those that they make, and those that they should not make."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from components.control_plane.issuing import Pair

CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

_numbers = itertools.count()


def key() -> ec.EllipticCurvePrivateKey:
    """Return a key as a kubelet makes it."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(own: Key) -> str:
    return own.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def csr(
    node: str,
    own: Key,
    *,
    subject: Sequence[tuple[x509.ObjectIdentifier, str]] | None = None,
    dns_names: Sequence[str] = (),
    addresses: Sequence[str] = (),
    more_names: Sequence[x509.GeneralName] = (),
) -> str:
    """Return a PKCS#10 request, base64 of PEM as the API has it."""
    parts = subject or [(NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, f"system:node:{node}")]
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(oid, value) for oid, value in parts])
    )
    names = [*map(x509.DNSName, dns_names), *(x509.IPAddress(ip_address(each)) for each in addresses), *more_names]
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    algorithm = None if isinstance(own, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return base64.b64encode(builder.sign(own, algorithm).public_bytes(serialization.Encoding.PEM)).decode()


def document(request: str, *, signer: str = CLIENT, usages: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
    """Return the object that is posted to the API."""
    usage = "client auth" if signer == CLIENT else "server auth"
    spec = {"request": request, "signerName": signer, "usages": list(usages or ["digital signature", usage]), **more}
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": f"csr-{next(_numbers)}"},
        "spec": spec,
    }


def received(posted: dict[str, Any], *, user: str, groups: Sequence[str] = ()) -> dict[str, Any]:
    """Return the object as the API server passes it on, with its requester."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {**posted["metadata"], "uid": f"uid-{posted['metadata']['name']}", "creationTimestamp": now}
    return {**posted, "metadata": metadata, "spec": {**posted["spec"], "username": user, "groups": list(groups)}}


def by_token(posted: dict[str, Any], *hosts: str, token: str = "abcdef") -> dict[str, Any]:
    """Return a request made with a token that is for ``hosts``."""
    groups = ["system:bootstrappers:longhaul", *(f"system:bootstrappers:longhaul:host:{host}" for host in hosts)]
    return received(posted, user=f"system:bootstrap:{token}", groups=groups)


def by_node(posted: dict[str, Any], node: str) -> dict[str, Any]:
    return received(posted, user=f"system:node:{node}", groups=["system:nodes", "system:authenticated"])


def noted(posted: dict[str, Any], machine: str, *, site: str = "use1") -> dict[str, Any]:
    """Return the request that the join endpoint posts for a machine with a proof."""
    notes = {"longhaul.dev/site": site, "longhaul.dev/machine": machine}
    return {**posted, "metadata": {**posted["metadata"], "annotations": notes}}


def by_proof(posted: dict[str, Any], machine: str, *, site: str = "use1") -> dict[str, Any]:
    """Return that request as the API server passes it on."""
    return received(noted(posted, machine, site=site), user="longhaul:join", groups=["system:authenticated"])


def signed(posted: dict[str, Any], authority: Pair) -> str:
    """Return a certificate for a request, base64 of PEM as the API has it."""
    asked = x509.load_pem_x509_csr(base64.b64decode(posted["spec"]["request"]))
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    own = serialization.load_pem_private_key(authority.key.encode(), password=None)
    assert isinstance(own, ec.EllipticCurvePrivateKey)
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(issuer.subject, asked.subject, asked.public_key(), x509.random_serial_number())
    made = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(own, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
