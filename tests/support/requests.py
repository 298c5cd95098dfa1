"""Requests for node certificates, valid and invalid, made as a given user."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from contract.users import CLIENT_SIGNER, JOIN_USER
from longhaul.acceptance.joining import proof_annotations, request_for
from tests.support.project import Project, eventually


@dataclass(frozen=True, kw_only=True)
class Requester:
    """User for whom the API server takes a request."""

    user: str
    groups: tuple[str, ...]
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Annotations that it writes on a request."""


def proved(machine: str, *, site: str = "use1") -> Requester:
    """Return the join endpoint's identity with the proof of ``machine``. Only the administrator can impersonate it."""
    return Requester(user=JOIN_USER, groups=(), annotations=proof_annotations(machine, site=site))


def node_requester(name: str) -> Requester:
    """Return a node's own identity."""
    return Requester(user=f"system:node:{name}", groups=("system:nodes",))


def ask_for(
    project: Project, node: str, requester: Requester, *, signer: str = CLIENT_SIGNER, addresses: Sequence[str] = ()
) -> str:
    """Make a request for ``node``; return its name."""
    value = request_for(node, signer=signer, addresses=addresses, annotations=dict(requester.annotations))
    groups = [f"--as-group={group}" for group in (*requester.groups, "system:authenticated")]
    project.create(value, f"--as={requester.user}", *groups)
    return str(value["metadata"]["name"])


def refusal(project: Project, name: str) -> str:
    """Wait until a request is denied and return the reason: the condition's message, which an event has to repeat."""
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
