"""Those who check API servers' certificates and are no machines of the control plane: nodes, which follow what
kube-controller-manager publishes (images/rootfs, node_authorities.py), and pods."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from longhaul.exits import CommandError
from longhaul.kubernetes.api import path_of
from longhaul.kubernetes.connection import Object
from longhaul.rotation.servers import digests
from longhaul.status.cluster import BELIEVED

SYSTEM, PUBLISHED, FIELD = "kube-system", "kube-root-ca.crt", "ca.crt"
PATIENCE = timedelta(minutes=15)
"""Longest wait for nodes. They look every five minutes or so (longhaul-authorities.timer)."""
FIRST_WORD = timedelta(minutes=8)
"""Time after its registration in which a Node says what it believes: two looks."""
LOOK_S = 10.0
"""Seconds between two looks at all Nodes."""
ROOT = f"/api/v1/namespaces{path_of(SYSTEM, 'configmaps', PUBLISHED)}"
NODES = "/api/v1/nodes"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments"
OURS = "app.kubernetes.io/managed-by=longhaul"
"""Label of our own objects (components/objects/labels.py)."""


class Objects(Protocol):
    """The cluster's API, as far as it is needed here."""

    def find(self, path: str) -> Object | None:
        """Read one object; None when it does not exist."""

    def patch(self, path: str, body: Object) -> Object:
        """Change parts of an object."""

    def items(self, path: str, **query: str) -> Iterator[Object]:
        """Yield every object of a list."""

    def believe(self, authorities: str) -> None:
        """Believe further authorities of API servers."""


@dataclass(frozen=True, kw_only=True)
class Followers:
    """Nodes and our own pods."""

    api: Objects
    tell: Callable[[str], None]
    without: Collection[str] = ()
    """Names of the Nodes that nobody waits for."""
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(tz=UTC))
    sleep: Callable[[float], None] = time.sleep

    def but(self, names: Collection[str]) -> Followers:
        """Return these without further Nodes."""
        return replace(self, without={*self.without, *names})

    def silent(self) -> list[str]:
        """Return the names of the Nodes that do not say what they believe. Those that have just joined get the time to
        say so."""
        told = False
        while True:
            found = {one["metadata"]["name"]: one["metadata"] for one in self._listed()}
            silent = {name: metadata for name, metadata in found.items() if not _believed(metadata)}
            new = [name for name, metadata in silent.items() if self.clock() < _born(metadata) + FIRST_WORD]
            if not new:
                return list(silent)
            if not told:
                self.tell(f"waiting until {', '.join(new)}, which joined just now, say what they believe")
                told = True
            self.sleep(LOOK_S)

    def await_all(self, authorities: str) -> None:
        """Return once every Node believes these authorities (PEM) and no others; ``CommandError`` with those that do
        not in time."""
        wanted, deadline, said = set(digests(authorities)), self.clock() + PATIENCE, False
        while behind := self._behind(wanted):
            if self.clock() >= deadline:
                raise CommandError(behind)
            if not said:
                self.tell(f"waiting: {behind}")
                said = True
            self.sleep(LOOK_S)

    def restart_own(self, authorities: str) -> None:
        """Have the pods of our Deployments start anew with these authorities: such as read them once would not know an
        API server that shows a certificate of the new one."""
        told = {BELIEVED: ",".join(digests(authorities))}
        for one in self.api.items(DEPLOYMENTS, labelSelector=OURS):
            template = one["spec"]["template"].get("metadata") or {}
            if (template.get("annotations") or {}).get(BELIEVED) != told[BELIEVED]:
                name = one["metadata"]["name"]
                body = {"spec": {"template": {"metadata": {"annotations": told}}}}
                self.api.patch(f"{DEPLOYMENTS}/{name}", body)
                self.tell(f"the pods of {name} start anew")

    def _behind(self, wanted: set[str]) -> str:
        """Return who does not believe what is wanted yet; empty when all do."""
        published = str(((self.api.find(ROOT) or {}).get("data") or {}).get(FIELD) or "")
        if set(digests(published)) != wanted:
            return f"kube-controller-manager does not publish what its machines have (ConfigMap {SYSTEM}/{PUBLISHED})"
        names = [name for name, believed in self._nodes().items() if believed != wanted]
        said = "have not followed yet (journalctl -u longhaul-authorities there). To go on without them: --without NAME"
        return f"the nodes {', '.join(names)} {said}" if names else ""

    def _nodes(self) -> Mapping[str, set[str]]:
        """Return what each Node says that it believes."""
        return {one["metadata"]["name"]: _believed(one["metadata"]) for one in self._listed()}

    def _listed(self) -> Iterator[Object]:
        return (one for one in self.api.items(NODES) if one["metadata"]["name"] not in self.without)


def _born(metadata: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(metadata["creationTimestamp"]))


def _believed(metadata: Mapping[str, Any]) -> set[str]:
    told = str((metadata.get("annotations") or {}).get(BELIEVED) or "")
    return set(told.split(",")) - {""}
