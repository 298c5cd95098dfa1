"""Objects as a node's kubelet writes them, and requests with the certificate of a node."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, ObjectIdentifier

from components.objects.node_permissions import ANNOTATIONS
from contract.kubernetes.api import Api
from contract.kubernetes.connection import ApiError
from contract.users import NODE_USER, NODES_GROUP, SERVING_SIGNER

NODE, OTHER, NEW = "i-1", "i-2", "i-3"
"""The node of the attacker, another one, and a machine of the attacker that has not registered."""
NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
WEB = f"{PODS}/web"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLAIM = "/api/v1/namespaces/default/persistentvolumeclaims/data"
POWERFUL = "powerful-nodes"
"""Group whose members may do everything, as an administrator may have given it to nodes by mistake."""
FINALIZER = "attacker.example/stay"
COUNTED = "kueue.x-k8s.io/managed"
"""Finalizer with which Kueue counts pods, as Kubernetes' own counts those of Jobs."""
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
HARD = {"cpu": "4", "memory": "8Gi", "pods": "16"}


@dataclass(frozen=True, kw_only=True)
class NodeRequest:
    """A request of a node."""

    method: str
    path: str
    body: Any
    """Or what returns it, when it has to be new: controllers write Nodes meanwhile."""
    refusal: str = ""
    """Part of the API server's message; empty for what kubelets do."""
    kind: str = MERGE
    """Content type of a patch."""
    node: str = NODE
    powerful: bool = False
    query: Mapping[str, str] = field(default_factory=dict)

    def send(self, world: NodeWorld) -> str:
        """Send the request without an effect. Return the API server's refusal; empty without one."""
        api = world.nodes[POWERFUL if self.powerful else self.node]
        more: dict[str, Any] = {"content_type": self.kind} if self.method == "PATCH" else {}
        body = self.body() if callable(self.body) else self.body
        if self.method == "DELETE":
            body = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], **body}
        query = {**self.query, "dryRun": "All"} | (
            {"fieldManager": "kubelet", "force": "true"} if self.kind == APPLY else {}
        )
        try:
            api.send(self.method, self.path, body=body, query=query, **more)
        except ApiError as error:
            return str(error)
        return ""


@dataclass(frozen=True, kw_only=True)
class NodeWorld:
    """An API server with two nodes and their pods, and the APIs of the nodes and of an administrator."""

    admin: Api
    nodes: dict[str, Api]
    uid: str
    """Of the attacker's Node."""
    pod_uid: str
    account_uid: str
    """Of the account of its pod."""
    pod_address: str
    node_address: str
    strangers: tuple[str, ...]
    """Addresses that no node and no pod of the environment has."""


def node(name: str, *, spec: Any = None, status: Any = None, **metadata: Any) -> dict[str, Any]:
    """Return a Node as its kubelet registers it (k8s.io/kubernetes 1.36, ``initialNode``)."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "longhaul.dev/pool": "cpu"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {ANNOTATIONS[0]: "true"}, **metadata},
        "spec": {
            "providerID": f"aws:///z/{name}",
            "taints": [{"key": "longhaul.dev/spot", "value": "yes", "effect": "NoSchedule"}],
            **(spec or {}),
        },
        "status": {"capacity": HARD, "allocatable": HARD, **(status or {})},
    }


def on(item: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return an object with more metadata."""
    return {**item, "metadata": {**item["metadata"], **metadata}}


def owner(uid: str, *, name: str = NODE, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid, **more}


def lease(uid: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": NODE, "ownerReferences": [owner(uid)], **metadata},
        "spec": {"holderIdentity": NODE, "leaseDurationSeconds": 40, "renewTime": "2030-01-01T00:00:00.000000Z"},
    }


def csi_node(uid: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": NODE, "ownerReferences": [owner(uid)], **metadata},
        "spec": {"drivers": []},
    }


def signing_request(names: list[tuple[ObjectIdentifier, str]]) -> x509.CertificateSigningRequest:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(oid, value) for oid, value in names])
    )
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())


def certificate_request(signer: str, *, after: str = "", **metadata: Any) -> dict[str, Any]:
    """Return a kubelet's request for a certificate, with ``after`` behind it."""
    made = signing_request([(NameOID.ORGANIZATION_NAME, NODES_GROUP), (NameOID.COMMON_NAME, f"{NODE_USER}{NODE}")])
    pem = made.public_bytes(serialization.Encoding.PEM)
    usages = ["digital signature", "server auth" if signer == SERVING_SIGNER else "client auth"]
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "mine", **metadata},
        "spec": {"request": base64.b64encode(pem + after.encode()).decode(), "signerName": signer, "usages": usages},
    }


def event(**metadata: Any) -> dict[str, Any]:
    about = {"kind": "Node", "name": NODE, "uid": NODE}
    metadata = {"name": "a", "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": about, "reason": "Ready"}


def patch(path: str, body: Any, refusal: str = "") -> NodeRequest:
    return NodeRequest(method="PATCH", path=path, body=body, refusal=refusal)


def registers(body: Any, refusal: str = "") -> NodeRequest:
    return NodeRequest(method="POST", path=NODES, body=body, refusal=refusal, node=NEW)


def pod_request(world: NodeWorld, *, refusal: str = "", **metadata: Any) -> NodeRequest:
    """Return the request of a kubelet for a certificate of its pod."""
    api = "/apis/certificates.k8s.io/v1beta1"
    stub = signing_request([]).public_bytes(serialization.Encoding.DER)
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": world.pod_uid}]
    body = {
        "apiVersion": "certificates.k8s.io/v1beta1",
        "kind": "PodCertificateRequest",
        "metadata": {"name": "web", "namespace": "default", "ownerReferences": owners, **metadata},
        "spec": {
            "signerName": "example.com/pods",
            "podName": "web",
            "podUID": world.pod_uid,
            "serviceAccountName": "default",
            "serviceAccountUID": world.account_uid,
            "nodeName": NODE,
            "nodeUID": world.uid,
            "maxExpirationSeconds": 86_400,
            "stubPKCS10Request": base64.b64encode(stub).decode(),
        },
    }
    path = f"{api}/namespaces/default/podcertificaterequests"
    return NodeRequest(method="POST", path=path, body=body, refusal=refusal)
