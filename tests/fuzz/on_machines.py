"""Readers that run on machines: proofs and requests of machines that want to join, and answers of clouds' metadata."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from ipaddress import IPv4Address
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.fuzz.target import REPOSITORY, Target

PROGRAMS = REPOSITORY / "images/rootfs/usr/local/lib/longhaul"
ACCOUNT = "00000000-0000-4000-8000-000000000002"
"""Subscription and tenant of the Azure site."""
POOL = f"/subscriptions/{ACCOUNT}/resourcegroups/lab/providers/Microsoft.Compute/virtualMachineScaleSets/lab-gpu"
ENVIRONMENT = {
    "format": 1,
    "environment": "lab",
    "aws_role": "arn:aws:iam::123456789012:role/lab-node-controller",
    "sites": {
        "use1": {"kind": "aws", "region": "us-east-1", "node_role": "node"},
        "weu": {
            "kind": "azure",
            "subscription": ACCOUNT,
            "tenant": ACCOUNT,
            "region": "westeurope",
            "resource_group": "lab",
        },
    },
    "pools": {"cpu": {"site": "use1", "groups": ["lab-cpu"]}, "gpu": {"site": "weu", "groups": ["lab-gpu"]}},
    "racks": {},
}


def importable() -> None:
    """Let the machines' programs be imported from their place in the image's tree."""
    if str(PROGRAMS) not in sys.path:
        sys.path.insert(0, str(PROGRAMS))


def certificate_request(_: Path) -> Target:
    """Read a certificate request as the API server has it."""
    importable()
    from contract.certificate_requests import RefusedError, parse
    from tests.images import kubelets

    def read(data: bytes) -> None:
        with suppress(RefusedError):
            parse(kubelets.document(base64.b64encode(data).decode()))

    return Target(read, (_request(),))


def join_proof(_: Path) -> Target:
    """Read what a machine posts to the join endpoint. Nobody else is asked; what Azure signs is taken for signed."""
    importable()
    from join_endpoint.aws import AwsProofs
    from join_endpoint.azure import AzureProofs
    from join_endpoint.join_requests import JoinEndpoint

    ticks = count(0, 3600)
    endpoint = JoinEndpoint(
        SimpleNamespace(find=_found, post=lambda path, document: document),  # type: ignore[arg-type]
        verifiers={"aws": AwsProofs(now=lambda: NOW), "azure": AzureProofs(tenant=_Tenant)},  # type: ignore[arg-type]
        events=SimpleNamespace(say=lambda *_, **__: None),  # type: ignore[arg-type]
        challenges=SimpleNamespace(knows=lambda *_: True),  # type: ignore[arg-type]
        clock=lambda: float(next(ticks)),
    )

    def read(data: bytes) -> None:
        with patch("join_endpoint.aws.fetch", return_value=b"<a><Arn>no machine</Arn></a>"), _openssl(b"{}"):
            endpoint.join(data, sender="10.65.128.4")

    said = {"request": _request().decode(), "challenge": "0123456789"}
    return Target(read, tuple({**said, "proof": proof} for proof in (_aws_proof(), _azure_proof())))


def attested_document(_: Path) -> Target:
    """Read an attested document whose signature is right."""
    importable()
    from join_endpoint import azure_documents

    from contract.certificate_requests import RefusedError

    def read(data: bytes) -> None:
        with suppress(RefusedError):
            azure_documents._document(data)

    now = f"{datetime.now(UTC):%m/%d/%y %H:%M:%S} +0000"
    times = {"createdOn": now, "expiresOn": now}
    return Target(read, ({"vmId": "1", "subscriptionId": ACCOUNT, "nonce": "0123456789", "timeStamp": times},))


def token(_: Path) -> Target:
    """Read the claims of a token whose signature is right."""
    importable()
    from join_endpoint import azure_tokens

    from contract.certificate_requests import RefusedError

    tenant: Any = _Tenant(ACCOUNT)
    head = {"alg": "RS256", "kid": "1"}

    def read(data: bytes) -> None:
        with suppress(RefusedError):
            azure_tokens.claims(f"{_part(json.dumps(head).encode())}.{_part(data)}.AAAA", tenant, now=datetime.now(UTC))
        with suppress(RefusedError):
            azure_tokens.claims(data.decode("latin-1"), tenant, now=datetime.now(UTC))

    issuer = f"https://sts.windows.net/{ACCOUNT}/"
    claims = {"iss": issuer, "tid": ACCOUNT, "aud": azure_tokens.AUDIENCE, "nbf": 1.0, "exp": 9e9, "xms_mirid": POOL}
    return Target(read, (claims,))


def sts_answer(_: Path) -> Target:
    """Read the answer of STS to a machine's signature."""
    importable()
    from join_endpoint.aws import AwsProofs
    from join_endpoint.outgoing_http import SourceError
    from join_endpoint.proof import ProofQuestion

    from contract.certificate_requests import RefusedError
    from contract.documents.node_controller import of_text

    question = ProofQuestion(environment=of_text(json.dumps(ENVIRONMENT)), fingerprint="0" * 64, challenge="0123456789")
    proof = _aws_proof()

    def read(data: bytes) -> None:
        with patch("join_endpoint.aws.fetch", return_value=data), suppress(RefusedError, SourceError):
            AwsProofs(now=lambda: NOW).attested(proof, question)

    arn = "arn:aws:sts::123456789012:assumed-role/node/i-0123456789abcdef0"
    return Target(read, (f'<r xmlns="https://sts.amazonaws.com/"><Arn>{arn}</Arn></r>'.encode(),))


def environment_document(_: Path) -> Target:
    """Read the environment that the objects phase wrote for the node controller."""
    importable()
    from contract.documents.node_controller import NodeEnvironmentError, of_text

    def read(data: bytes) -> None:
        with suppress(NodeEnvironmentError):
            of_text(data.decode(errors="replace"))

    return Target(read, (ENVIRONMENT,))


def aws_metadata(_: Path) -> Target:
    """Read EC2's instance metadata: a line for each answer."""
    importable()
    from machine import metadata as node_metadata

    seed = b"token\ni-0123456789abcdef0\nus-east-1a\n0a:00:00:00:00:01\n10.65.128.16/28\n10.65.128.4"
    return Target(_place(lambda: node_metadata.aws("http://metadata")), (seed,))


def azure_metadata(_: Path) -> Target:
    """Read Azure's instance metadata."""
    importable()
    from machine import metadata as node_metadata

    own = IPv4Address("10.66.0.4")
    addresses = [{"privateIpAddress": f"10.66.0.{last}"} for last in (4, 5, 6)]
    compute = {"osProfile": {"computerName": "N1"}, "resourceId": f"{POOL}/1", "location": "westeurope", "zone": "1"}
    seed = {"compute": compute, "network": {"interface": [{"ipv4": {"ipAddress": addresses}}]}}
    return Target(_place(lambda: node_metadata.azure("http://metadata", address=own), whole=True), (seed,))


def host_place(folder: Path) -> Target:
    """Read the place of a host of a rack."""
    importable()
    from machine import metadata as node_metadata

    own, path = "10.66.32.10", folder / "place.json"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        with suppress(node_metadata.PlaceError):
            node_metadata.host(path, address=IPv4Address(own))

    return Target(read, ({"name": "n", "address": own, "provider_id": "p", "zone": "z", "pods": "10.66.128.0/28"},))


def aws_notices(_: Path) -> Target:
    """Read EC2's notices of an interruption."""
    importable()
    from machine.metadata import NotYetError
    from node.interruption_notices import AwsNotices

    def read(data: bytes) -> None:
        with patch("node.interruption_notices.ask", return_value=data.decode(errors="replace")), suppress(NotYetError):
            told = AwsNotices("http://metadata")
            told.spot(), told.interruption(), told.recommendation()

    return Target(read, ({"action": "terminate", "time": "2026-01-31T00:00:00Z", "noticeTime": "x"},))


def azure_notices(_: Path) -> Target:
    """Read Azure's scheduled events, and the metadata that is asked before."""
    importable()
    from machine.metadata import NotYetError
    from node.interruption_notices import AzureNotices

    def read(data: bytes) -> None:
        with patch("node.interruption_notices.ask", return_value=data.decode(errors="replace")), suppress(NotYetError):
            told = AzureNotices("http://metadata")
            told.spot(), told.interruption(), told.awaits_approval(), told.approve()

    event = {"EventId": "1", "EventType": "Terminate", "EventStatus": "Scheduled", "Resources": ["n1"]}
    times = ("Mon, 19 Sep 2016 18:29:47 GMT", "")
    events = [{**event, "NotBefore": time} for time in times]
    return Target(read, ({"compute": {"name": "n1", "priority": "Spot"}, "Events": events},))


NOW = datetime(2026, 1, 31, tzinfo=UTC)


class _Tenant:
    """Tenant that takes every signature for right."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant

    def key(self, _: str) -> Any:
        return SimpleNamespace(verify=lambda *_: None)


def _place(find: Callable[[], object], *, whole: bool = False) -> Callable[[bytes], None]:
    """Return a reader of metadata: each answer is a line of the data, or all are the ``whole``."""
    from machine.metadata import NotYetError, PlaceError

    def read(data: bytes) -> None:
        text = data.decode(errors="replace")
        answers = [text] if whole else [*text.split("\n"), *[""] * 8]
        with patch("machine.metadata.ask", side_effect=answers), suppress(NotYetError, PlaceError):
            find()

    return read


def _found(path: str) -> Any:
    from contract.documents.node_controller import CONFIGMAP, KEY

    return {"data": {KEY: json.dumps(ENVIRONMENT)}} if path.endswith(f"/{CONFIGMAP}") else None


def _openssl(content: bytes) -> Any:
    """Return what is in force while openssl, which would be started for each document, takes all for signed."""
    return patch.multiple(
        "join_endpoint.azure_documents", _openssl=lambda *_, **__: content, _check_signer=lambda _: None
    )


def _aws_proof() -> dict[str, Any]:
    from join_endpoint.aws import SIGNED, STAMP

    scope = f"{'A' * 20}/{NOW:%Y%m%d}/us-east-1/sts/aws4_request"
    signed = f"Credential={scope}, SignedHeaders={';'.join(SIGNED)}, Signature={'0' * 64}"
    authorization = f"AWS4-HMAC-SHA256 {signed}"
    now = f"{NOW:{STAMP}}"
    return {"kind": "aws", "region": "us-east-1", "date": now, "session": "x" * 20, "authorization": authorization}


def _azure_proof() -> dict[str, Any]:
    parts = [_part(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1"}, {"exp": 1}, {})]
    return {"kind": "azure", "document": "A" * 64, "token": ".".join([*parts[:2], "AAAAAAAA"]), "chain": ["PEM"]}


def _part(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _request() -> bytes:
    """Return a kubelet's certificate request (PEM)."""
    from tests.images import kubelets

    return base64.b64decode(kubelets.csr("i-0123456789abcdef0", kubelets.key()))
