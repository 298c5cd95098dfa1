"""Requests for node certificates, good and bad, made as somebody."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.project import Project, eventually

CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"


@dataclass(frozen=True, kw_only=True)
class Requester:
    """Whom the API server takes the request for."""

    user: str
    groups: tuple[str, ...]
    annotations: Mapping[str, str] = field(default_factory=dict)
    """What it writes on a request."""


def proved(machine: str, *, site: str = "use1") -> Requester:
    """The join service, before which ``machine`` has proved what it is. Only the administrator can be taken for it."""
    notes = {"longhaul.dev/site": site, "longhaul.dev/machine": machine}
    return Requester(user="longhaul:join", groups=(), annotations=notes)


def node_requester(name: str) -> Requester:
    """A node's own identity."""
    return Requester(user=f"system:node:{name}", groups=("system:nodes",))


def ask_for(
    project: Project, node: str, requester: Requester, *, signer: str = CLIENT, addresses: Sequence[str] = ()
) -> str:
    """Make a request for ``node``; returns its name."""
    name = f"test-{secrets.token_hex(4)}"
    usages = ["digital signature", "client auth" if signer == CLIENT else "server auth"]
    request = base64.b64encode(_signed(node, addresses)).decode()
    value = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name, "annotations": dict(requester.annotations)},
        "spec": {"request": request, "signerName": signer, "usages": usages},
    }
    groups = [f"--as-group={group}" for group in (*requester.groups, "system:authenticated")]
    project.create(value, f"--as={requester.user}", *groups)
    return name


def refusal(project: Project, name: str) -> str:
    """Why a request was denied, awaited: the condition's message, which an event has to repeat."""
    found: dict[str, str] = {}

    def denied() -> bool:
        status = json.loads(project.kubectl("get", "csr", name, "--output=json").stdout).get("status", {})
        if "certificate" in status:
            raise AssertionError(f"{name} was signed")
        found.update({c["type"]: c["message"] for c in status.get("conditions", ())})
        return "Denied" in found

    eventually(denied)
    eventually(lambda: name in _events(project))
    return found["Denied"]


def _events(project: Project) -> set[str]:
    listed = json.loads(project.kubectl("get", "events", "--all-namespaces", "--output=json").stdout)["items"]
    return {item["involvedObject"].get("name", "") for item in listed if item["reason"] == "NodeRequestDenied"}


def _signed(node: str, addresses: Sequence[str]) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = [
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
        x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"),
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    if addresses:
        names = [x509.DNSName(node), *(x509.IPAddress(ip_address(address)) for address in addresses)]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
