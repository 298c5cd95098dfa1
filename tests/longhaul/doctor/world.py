"""An environment to check, and clouds that answer from memory: Azure's manager on loopback, AWS's SDK with a stub."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3
from botocore.stub import Stubber

from clouds.azure.reader import AzureReader
from clouds.azure.session import AzureSession
from clouds.base.doctor import CloudShare
from clouds.base.findings import Finding, NotAskedError
from clouds.base.local_machine import LocalMachine
from components.model import parse
from contract.azure import MANAGEMENT
from longhaul.doctor.target import DoctorTarget
from longhaul.engine.backend import Backend
from tests.support.loopback import Answering, Asked
from tests.support.project import REPOSITORY, hybrid

SUBSCRIPTION = "11111111-2222-4333-8444-555555555551"
TENANT = "11111111-2222-4333-8444-555555555552"
ROOT = f"/subscriptions/{SUBSCRIPTION}"
PUBLIC = "20.30.40.50"
FILE = "stacks/Pulumi.dev.yaml"


def raw_environment() -> dict[str, Any]:
    """Return the lab's environment as a company would have it: Azure, AWS and a rack."""
    raw = hybrid("dev", supernet="10.64.0.0/12")
    weu = raw["sites"]["weu"]
    weu |= {"subscription": SUBSCRIPTION, "tenant": TENANT}
    weu["image"] = f"{ROOT}/resourceGroups/images/providers/Microsoft.Compute/galleries/g/images/node/versions/1.2.0"
    raw["sites"]["use1"]["image"] = "ami-0123456789abcdef0"
    raw["sites"]["rack"]["gateways"][0]["public_address"] = PUBLIC
    return raw


NETWORKING = f"{ROOT}/resourceGroups/rg-network/providers/Microsoft.Network"
VPC, SUBNET, TABLE = (f"{kind}-0123456789abcdef0" for kind in ("vpc", "subnet", "rtb"))
INTERNET, GATEWAY = "igw-0123456789abcdef0", "vgw-0123456789abcdef0"


def named_environment() -> dict[str, Any]:
    """Return the same environment on the company's existing parts."""
    raw = raw_environment()
    gateway = {"id": f"{NETWORKING}/virtualNetworkGateways/vgw", "addresses": ["20.30.40.51", "20.30.40.52"]}
    raw["sites"]["weu"] |= {"range": "10.64.0.0/16"}
    raw["sites"]["weu"]["existing"] = {
        "resource_group": "rg",
        "network": f"{NETWORKING}/virtualNetworks/vnet",
        "subnets": {"api": "snet-api"},
        "dns_zone": f"{NETWORKING}/privateDnsZones/{raw['domain']}",
        "vpn_gateway": gateway,
    }
    raw["sites"]["use1"] |= {"range": "10.65.0.0/16", "account": "123456789012"}
    zone = raw["sites"]["use1"].get("zones", ["a"])[0]
    raw["sites"]["use1"]["existing"] = {
        "vpc": VPC,
        "internet_gateway": INTERNET,
        "node_subnets": {zone: {"subnet": SUBNET, "route_table": TABLE}},
        "vpn_gateway": GATEWAY,
    }
    return raw


def target(raw: dict[str, Any] | None = None, **more: Any) -> DoctorTarget:
    """Return the subject of the checks, with nothing of this machine's."""
    given = raw_environment() if raw is None else raw
    environment = parse(given, source=REPOSITORY / "stacks" / "Pulumi.dev.yaml", stack="dev")
    known: dict[str, Any] = {"stack": {}, "backend": Backend(url=""), "environ": {}, **more}
    return DoctorTarget(environment=environment, file=FILE, hosts_file="stacks/hosts.dev.yaml", **known)


def silent(url: str) -> str:
    raise NotAskedError(f"{url} does not answer")


def alone() -> LocalMachine:
    """Return a machine whose requests nothing answers."""
    return LocalMachine(resolve=lambda name: [], date=silent, now=lambda: datetime.now(UTC), proxied=lambda url: True)


def share(kind: str, raw: dict[str, Any] | None = None, **more: Any) -> CloudShare[Any]:
    """Return the subject's part in one cloud."""
    return target(raw, **more).share(kind, alone())


def severities(findings: list[Finding] | tuple[Finding, ...]) -> list[tuple[str, str]]:
    """Return severity and words of each finding."""
    return [(str(finding.severity), finding.what) for finding in findings]


class _Token:
    token = "made-up"

    def get_token(self, *_: str) -> _Token:
        return self


@dataclass(kw_only=True)
class Manager:
    """Azure's resource manager: documents by path, each a body or a list of pages."""

    address: str = ""
    documents: dict[str, Any] = field(default_factory=dict)
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Status and code by path."""
    asked: list[tuple[str, str, dict[str, list[str]]]] = field(default_factory=list)
    """Method, path and query of each request."""

    def reader(self) -> AzureReader:
        """Return a reader with the real session and a stand-in for its token."""
        session = AzureSession(MANAGEMENT)
        vars(session)["_credential"] = _Token()
        return AzureReader(session, root=self.address)

    def lists(self, path: str, *entries: Any, size: int = 100) -> None:
        """Add a list, in pages of ``size`` entries."""
        pages = [list(entries[start : start + size]) for start in range(0, len(entries), size)] or [[]]
        self.documents[path.lower()] = pages

    def has(self, path: str, document: Any) -> None:
        """Add a document."""
        self.documents[path.lower()] = document

    def serve(self, asked: Asked) -> tuple[int, bytes]:
        """Return status and body."""
        status, document = self._document(asked)
        return status, json.dumps(document).encode()

    def _document(self, asked: Asked) -> tuple[int, Any]:
        parts, query = urlsplit(asked.target), asked.query
        path = unquote(parts.path).lower()
        self.asked.append((asked.method, unquote(parts.path), query))
        if path in self.refused:
            status, code = self.refused[path]
            return status, {"error": {"code": code, "message": f"{code}, it says"}}
        if path not in self.documents:
            return 404, {"error": {"code": "NotFound", "message": "no such thing"}}
        document = self.documents[path]
        if not isinstance(document, list):
            return 200, document
        page = int(query.get("page", ["0"])[0])
        body: dict[str, Any] = {"value": document[page]}
        if page + 1 < len(document):
            body["nextLink"] = f"{self.address}{parts.path}?{parts.query.split('&page=')[0]}&page={page + 1}"
        return 200, body


@contextmanager
def manager() -> Iterator[Manager]:
    """Serve the manager until the block ends."""
    state = Manager()
    with Answering(state.serve) as server:
        state.address = server.url
        yield state


class Sdk:
    """AWS's clients, each with its own answers in the order of the expected requests."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], Any] = {}
        self._stubs: dict[tuple[str, str], Stubber] = {}
        self.operations: defaultdict[str, int] = defaultdict(int)

    def __call__(self, service: str, region: str) -> Any:
        place = (service, region)
        if place not in self._clients:
            client: Any = boto3.client(  # type: ignore[call-overload]
                service, region_name=region, aws_access_key_id="made-up", aws_secret_access_key="made-up"
            )
            client.meta.events.register("provide-client-params", self._count)
            self._clients[place], self._stubs[place] = client, Stubber(client)
            self._stubs[place].activate()
        return self._clients[place]

    def _count(self, model: Any, **_: Any) -> None:
        self.operations[model.name] += 1

    def says(
        self,
        service: str,
        operation: str,
        answer: Mapping[str, Any],
        expected: Mapping[str, Any] | None = None,
        *,
        region: str = "us-east-1",
    ) -> None:
        """Add the next answer of a service."""
        self(service, region)
        self._stubs[service, region].add_response(operation, dict(answer), expected)

    def refuses(
        self, service: str, operation: str, code: str, *, message: str = "no", region: str = "us-east-1"
    ) -> None:
        """Add an error as the next answer."""
        self(service, region)
        self._stubs[service, region].add_client_error(operation, service_error_code=code, service_message=message)

    def all_asked(self) -> None:
        """Check that every prepared answer was asked for."""
        for stub in self._stubs.values():
            stub.assert_no_pending_responses()


GOLDEN = Path(__file__).parent / "golden"
