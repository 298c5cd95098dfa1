"""Names of nodes that are reserved for a key after the grant of a certificate, and hosts' one-time tokens."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from contract.certificate_requests import RefusedError, Request, condition, parse
from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import Object
from contract.kubernetes.times import epoch_s
from contract.kubernetes.watch import Watch
from contract.object_names import SYSTEM_NAMESPACE
from contract.users import CLIENT_SIGNER

log = logging.getLogger(__name__)

SECRETS = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/secrets"

RESERVED_S = 300.0
"""Longest time in seconds for which a name is reserved for a key until the Node appears. A kubelet takes seconds from
its certificate to its registration."""


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Grant of a client certificate with which a machine joins."""

    fingerprint: str
    token: str
    """Id of the host's bootstrap token in the request; empty without a token, and once the token is deleted."""
    at: float
    """Time of the grant, in seconds since the epoch."""


class ReservedNames:
    """Memory of granted certificates."""

    def __init__(self, api: Api, *, nodes: Watch, wall: Callable[[], float] = time.time) -> None:
        self._api, self._nodes, self._wall = api, nodes, wall
        self._grants: dict[str, Grant] = {}

    def recall(self, documents: Iterable[Object]) -> None:
        """Remember earlier grants, which another leader may have made."""
        for document in documents:
            if condition(document, "Approved") is not None and document["spec"]["signerName"] == CLIENT_SIGNER:
                try:
                    request = parse(document)
                except RefusedError:
                    continue
                self.granted(request, at=epoch_s(document["metadata"]["creationTimestamp"]))

    def granted(self, request: Request, *, at: float | None = None) -> None:
        """Remember the grant of a client certificate with which a machine joins. Other grants are ignored."""
        known = self._grants.get(request.node)
        when = self._wall() if at is None else at
        if request.joining and request.signer == CLIENT_SIGNER and (known is None or known.at <= when):
            over = self._wall() - RESERVED_S
            self._grants = {node: grant for node, grant in self._grants.items() if grant.token or grant.at > over}
            token = request.token if request.host == request.node else ""
            self._grants[request.node] = Grant(fingerprint=request.fingerprint, token=token, at=when)

    def rival(self, request: Request) -> bool:
        """Return whether another key was granted the request's name within :data:`RESERVED_S`, and no Node of the name
        exists yet."""
        grant = self._grants.get(request.node)
        if grant is None or grant.fingerprint == request.fingerprint or self._wall() - grant.at > RESERVED_S:
            return False
        return self._nodes.find(request.node) is None

    def joined(self, node: str) -> None:
        """Delete the one-time token with which the node joined, because its kubelet has proved that it has its
        certificate. The name stays reserved, because a kubelet requests its serving certificate before its Node
        exists."""
        grant = self._grants.get(node)
        if grant is None or not grant.token:
            return
        if self._api.delete(SECRETS + path_of(f"bootstrap-token-{grant.token}")):
            log.info("deleted the one-time token of %s", node)
        self._grants[node] = replace(grant, token="")
