"""Certificate requests of a node beyond what a node needs. The API keeps a request for an hour to a day, and no quota
counts objects of the whole cluster, so one node could fill etcd with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from contract.kubernetes.connection import Object
from contract.users import NODE_USER

KEPT = 20
"""Largest number of requests of one node. A kubelet asks for two certificates in 30 days; while none is signed, it asks
again every quarter of an hour (k8s.io/client-go, ``util/certificate``, ``certificateWaitTimeout``)."""


def surplus_requests(documents: Iterable[Object]) -> list[Object]:
    """Return the oldest requests of each node that has more than :data:`KEPT`: a kubelet waits for its newest."""
    by_node: dict[str, list[Object]] = defaultdict(list)
    for document in documents:
        user = str(document["spec"].get("username", ""))
        if user.startswith(NODE_USER):
            by_node[user].append(document)
    return [
        document
        for requests in by_node.values()
        if len(requests) > KEPT
        for document in sorted(requests, key=lambda request: str(request["metadata"]["creationTimestamp"]))[:-KEPT]
    ]
