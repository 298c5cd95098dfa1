"""Checks of the join endpoint's rules: certificate requests that must be refused."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from clouds.registry import cloud_of
from components.model.sites.places import place_of
from contract.annotations import PROVED_MACHINE, PROVED_SITE
from contract.certificate_requests import PATH as CERTIFICATE_REQUESTS
from contract.kubernetes.api import path_of
from contract.kubernetes.connection import Object
from contract.kubernetes.paths import NODES
from contract.kubernetes.readiness import is_ready
from contract.labels import POOL_LABEL
from contract.users import CLIENT_SIGNER, JOIN_USER
from longhaul.acceptance.check import NotApplicableError, NotSoError
from longhaul.acceptance.target import AcceptanceTarget


def unknown_machine(target: AcceptanceTarget) -> str:
    """Check that a request in the join endpoint's form is refused for a machine that does not exist."""
    pool = _pool(target)
    place = place_of(target.environment, target.environment.pools[pool].site)
    return _refused(target, cloud_of(place.site).groups.unused_name(place, pool), site=place.name)


def live_node(target: AcceptanceTarget) -> str:
    """Check that a request for the name of a node that exists is refused."""
    pool = _pool(target)
    nodes = target.api("").items(NODES, labelSelector=f"{POOL_LABEL}={pool}")
    name = next((str(item["metadata"]["name"]) for item in nodes if is_ready(item)), "")
    if not name:
        raise NotApplicableError(f"pool {pool} has no node that is ready")
    return _refused(target, name, site=target.environment.pools[pool].site)


def signing_request(node: str, addresses: Sequence[str] = ()) -> bytes:
    """Return a node's certificate signing request in PEM. The request's key is thrown away."""
    key = ec.generate_private_key(ec.SECP256R1())
    target = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"),
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(target))
    if addresses:
        names = [x509.DNSName(node), *(x509.IPAddress(ip_address(address)) for address in addresses)]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def proof_annotations(machine: str, *, site: str) -> dict[str, str]:
    """Return the annotations in which the join endpoint states what a machine proved."""
    return {PROVED_SITE: site, PROVED_MACHINE: machine}


def request_for(
    node: str, *, signer: str = CLIENT_SIGNER, addresses: Sequence[str] = (), annotations: dict[str, str] | None = None
) -> Object:
    """Return a CertificateSigningRequest with a new name."""
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": f"test-{secrets.token_hex(4)}", "annotations": annotations or {}},
        "spec": {
            "request": base64.b64encode(signing_request(node, addresses)).decode(),
            "signerName": signer,
            "usages": ["digital signature", "client auth" if signer == CLIENT_SIGNER else "server auth"],
        },
    }


def _pool(target: AcceptanceTarget) -> str:
    for name in target.environment.pools:
        return name
    raise NotApplicableError("the environment has no pool: hosts join with a token each")


def _refused(target: AcceptanceTarget, name: str, *, site: str) -> str:
    """Make the request, wait for its refusal, and delete it."""
    api = target.api("")
    wanted = request_for(name, annotations=proof_annotations(name, site=site))
    path = CERTIFICATE_REQUESTS + path_of(wanted["metadata"]["name"])
    made = target.api(JOIN_USER).post(CERTIFICATE_REQUESTS, wanted)
    reasons: list[str] = []

    def why_not(items: list[Object]) -> str:
        status = items[0].get("status", {}) if items else {}
        if "certificate" in status:
            raise NotSoError(f"{name} was given a certificate")
        reasons[:] = [
            condition["message"] for condition in status.get("conditions", ()) if condition["type"] == "Denied"
        ]
        return "" if reasons else "nobody has decided yet"

    try:
        target.condition_deadline().await_items(
            api,
            CERTIFICATE_REQUESTS,
            why_not,
            what=f"the request for {name} is refused",
            fieldSelector=f"metadata.name={wanted['metadata']['name']}",
        )
    finally:
        api.delete(path, uid=made["metadata"]["uid"])
    return f"refused: {reasons[0]}"
