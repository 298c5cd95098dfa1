"""State of tokens and Nodes, as the API knows it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from contract.certificate_requests import RefusedError, Request, condition, parse
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import Object
from contract.kubernetes.paths import NODE_LEASES, NODES
from contract.kubernetes.watch import Watch
from contract.lifetimes import NODE_CERTIFICATE_DAYS
from contract.objects import SYSTEM_NAMESPACE
from contract.users import CLIENT_SIGNER

log = logging.getLogger(__name__)

SECRETS = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/secrets"

LEASE_S = 40.0
"""Age in seconds at which a node's lease has run out: the duration of kubelets' leases (kubelet.config.k8s.io/v1beta1,
``nodeLeaseDurationSeconds``)."""

RIVAL_S = 300.0
"""Time in seconds for which a name is reserved for the key that was granted it, until its Node appears: a kubelet takes
seconds from its certificate to its registration."""


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Client certificate that a machine joined with."""

    fingerprint: str
    token: str
    """Id of the token that the certificate was granted for; empty when there was none."""
    at: float
    """Time of the grant, in seconds since the epoch."""


class KubernetesCluster:
    """Asks the API on demand: leases are renewed too often to be watched, and are needed only for joining or lost
    nodes."""

    def __init__(self, api: Api, *, nodes: Watch, wall: Callable[[], float] = time.time) -> None:
        self._api, self._nodes, self._wall = api, nodes, wall
        self._grants: dict[str, Grant] = {}

    def live(self, node: str) -> bool:
        """Return whether the node is ready or its lease is fresh. Either may lag: readiness 50 s behind a failure, a
        lease because of a wrong clock."""
        return self.fresh(node) or self._ready(node)

    def fresh(self, node: str) -> bool:
        """Return whether the node's lease was renewed within :data:`LEASE_S`."""
        return self._renewed_within(node, LEASE_S)

    def member(self, node: str) -> bool:
        """Return whether there is a Node whose lease was renewed within a certificate's lifetime. Even while such a
        node is silent, a thief of its machine's identity must not get its name too."""
        recent = self._renewed_within(node, timedelta(days=NODE_CERTIFICATE_DAYS).total_seconds())
        return recent and self._api.find(NODES + path_of(node)) is not None

    def _renewed_within(self, node: str, limit_s: float) -> bool:
        lease = self._api.find(NODE_LEASES + path_of(node)) or {}
        renewed = lease.get("spec", {}).get("renewTime")
        return bool(renewed) and self._wall() - moment(renewed) < limit_s

    def _ready(self, node: str) -> bool:
        document = self._api.find(NODES + path_of(node)) or {}
        conditions = document.get("status", {}).get("conditions", [])
        return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)

    def recall(self, documents: Iterable[Object]) -> None:
        """Remember earlier grants, which another controller may have made."""
        for document in documents:
            if condition(document, "Approved") is not None and document["spec"]["signerName"] == CLIENT_SIGNER:
                try:
                    request = parse(document)
                except RefusedError:
                    continue
                self.granted(request, at=moment(document["metadata"]["creationTimestamp"]))

    def granted(self, request: Request, *, at: float | None = None) -> None:
        """Remember a certificate that a machine joined with."""
        known = self._grants.get(request.node)
        when = self._wall() if at is None else at
        if request.joining and request.signer == CLIENT_SIGNER and (known is None or known.at <= when):
            over = self._wall() - RIVAL_S
            self._grants = {node: grant for node, grant in self._grants.items() if grant.token or grant.at > over}
            token = request.token if request.host == request.node else ""
            self._grants[request.node] = Grant(fingerprint=request.fingerprint, token=token, at=when)

    def rival(self, request: Request) -> bool:
        """Return whether another key was granted this name within :data:`RIVAL_S` and there is no Node yet."""
        grant = self._grants.get(request.node)
        if grant is None or grant.fingerprint == request.fingerprint or self._wall() - grant.at > RIVAL_S:
            return False
        return self._nodes.find(request.node) is None

    def joined(self, node: str) -> None:
        """Delete the one-time token that the node joined with: its kubelet has shown that it has its certificate. The
        name stays reserved, because a kubelet asks for its serving certificate before its Node exists."""
        grant = self._grants.get(node)
        if grant is None or not grant.token:
            return
        if self._api.delete(SECRETS + path_of(f"bootstrap-token-{grant.token}")):
            log.info("deleted the one-time token of %s", node)
        self._grants[node] = replace(grant, token="")


def moment(text: str) -> float:
    """Return the seconds since the epoch of a time as Kubernetes writes it."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
