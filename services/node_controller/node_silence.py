"""Silence of Nodes: which Nodes are live, and which nodes may still have a valid certificate, by the API."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.paths import NODE_LEASES, NODES
from contract.kubernetes.readiness import is_ready
from contract.kubernetes.times import epoch_s
from contract.lifetimes import NODE_CERTIFICATE_DAYS

SILENT_S = 40.0
"""Longest time in seconds for which a live node may be silent, which is the duration of kubelets' leases
(kubelet.config.k8s.io/v1beta1, ``nodeLeaseDurationSeconds``)."""


class NodeSilence:
    """Queries of the API about Nodes. Leases are renewed too often to be watched, and are needed only for joining and
    lost nodes."""

    def __init__(self, api: Api, *, wall: Callable[[], float] = time.time) -> None:
        self._api, self._wall = api, wall

    def live(self, node: str) -> bool:
        """Return whether the node is ready or its lease is fresh. Each alone may be wrong: readiness lags 50 s behind a
        failure, and a lease may have the time of a wrong clock."""
        return self.fresh(node) or self._ready(node)

    def fresh(self, node: str) -> bool:
        """Return whether the node's lease was renewed within :data:`SILENT_S`."""
        return self._renewed_within(node, SILENT_S)

    def member(self, node: str) -> bool:
        """Return whether there is a Node of this name whose lease was renewed within a certificate's lifetime. While
        such a node is silent, a thief of its machine's identity must not get a certificate for its name."""
        recent = self._renewed_within(node, timedelta(days=NODE_CERTIFICATE_DAYS).total_seconds())
        return recent and self._api.find(NODES + path_of(node)) is not None

    def _renewed_within(self, node: str, limit_s: float) -> bool:
        lease = self._api.find(NODE_LEASES + path_of(node)) or {}
        renewed = lease.get("spec", {}).get("renewTime")
        return bool(renewed) and self._wall() - epoch_s(renewed) < limit_s

    def _ready(self, node: str) -> bool:
        return is_ready(self._api.find(NODES + path_of(node)) or {})
