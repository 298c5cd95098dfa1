"""Clients outside the control plane that check API servers' certificates: nodes, which trust the authorities that
kube-controller-manager publishes (images/rootfs, kubelet/authorities.py), and pods."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from contract.annotations import AUTHORITIES, AUTHORITIES_BOOT
from contract.kubernetes.connection import Object
from contract.kubernetes.paths import NODES
from contract.labels import MANAGED_BY_LABEL, MANAGER
from contract.object_names import AUTHORITIES_CONFIGMAP, AUTHORITIES_KEY, SYSTEM_CONFIGMAPS, SYSTEM_NAMESPACE
from longhaul.rotate.servers import digests
from longhaul.terminal.exits import CommandError

PATIENCE = timedelta(minutes=15)
"""Longest wait for nodes. Nodes look for changed authorities about every five minutes (longhaul-authorities.timer)."""
FIRST_WORD = timedelta(minutes=8)
"""Time after its registration in which a Node must report its trusted authorities: two looks."""
LOOK_S = 10.0
"""Seconds between two looks at all Nodes."""
ROOT = f"{SYSTEM_CONFIGMAPS}/{AUTHORITIES_CONFIGMAP}"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}/deployments"
OURS = f"{MANAGED_BY_LABEL}={MANAGER}"


class Objects(Protocol):
    """The calls of the cluster's API that are needed here."""

    def find(self, path: str) -> Object | None:
        """Read one object; None when it does not exist."""

    def patch(self, path: str, body: Object) -> Object:
        """Change parts of an object."""

    def items(self, path: str, **query: str) -> Iterator[Object]:
        """Yield every object of a list."""

    def trust(self, authorities: str) -> None:
        """Trust further authorities of API servers."""


@dataclass(frozen=True, kw_only=True)
class Followers:
    """Nodes, and our own pods."""

    api: Objects
    tell: Callable[[str], None]
    without: Collection[str] = ()
    """Names of the Nodes that are not waited for."""
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(tz=UTC))
    sleep: Callable[[float], None] = time.sleep

    def excluding(self, names: Collection[str]) -> Followers:
        """Return a copy that ignores further Nodes."""
        return replace(self, without={*self.without, *names})

    def unreported(self) -> list[str]:
        """Return the names of the Nodes that do not report which authorities they trust. Nodes that have just joined
        get time to report."""
        announced, nodes = False, self._nodes()
        first = set(nodes)
        while True:
            silent = {name: metadata for name, metadata in nodes.items() if name in first and not _believed(metadata)}
            new = [name for name, metadata in silent.items() if self._is_new(metadata)]
            if not new:
                return list(silent)
            if not announced:
                self.tell(
                    f"waiting until {', '.join(new)}, which joined just now, report the authorities that they trust"
                )
                announced = True
            self.sleep(LOOK_S)
            nodes = self._nodes()

    def await_all(self, authorities: str) -> None:
        """Return once every Node trusts exactly these authorities (PEM). Raise ``CommandError`` with the Nodes that do
        not within :data:`PATIENCE`. A Node that joins meanwhile has the authorities from its user-data; it is not
        waited for until it reports, or until :data:`FIRST_WORD` has passed."""
        wanted, deadline, announced = set(digests(authorities)), self.clock() + PATIENCE, False
        first = set(self._nodes())
        while behind := self._behind(wanted, first):
            if self.clock() >= deadline:
                raise CommandError(behind)
            if not announced:
                self.tell(f"waiting: {behind}")
                announced = True
            self.sleep(LOOK_S)

    def restart_own(self, authorities: str) -> None:
        """Restart the pods of our Deployments with these authorities: pods that read authorities only at their start
        would not trust an API server with a certificate of the new authority."""
        template_annotations = {AUTHORITIES: ",".join(digests(authorities))}
        for deployment in self.api.items(DEPLOYMENTS, labelSelector=OURS):
            template = deployment["spec"]["template"].get("metadata") or {}
            if (template.get("annotations") or {}).get(AUTHORITIES) != template_annotations[AUTHORITIES]:
                name = deployment["metadata"]["name"]
                body = {"spec": {"template": {"metadata": {"annotations": template_annotations}}}}
                self.api.patch(f"{DEPLOYMENTS}/{name}", body)
                self.tell(f"restarting the pods of {name}")
            self._await_started(f"{DEPLOYMENTS}/{deployment['metadata']['name']}")

    def _await_started(self, path: str) -> None:
        """Return once no pod of a Deployment predates its last change. Raise ``CommandError`` when an old pod stays."""
        deadline = self.clock() + PATIENCE
        while (deployment := self.api.find(path)) is not None and not _is_rolled_out(deployment):
            if self.clock() >= deadline:
                name = deployment["metadata"]["name"]
                raise CommandError(
                    f"old pods of {name} do not end (kubectl --namespace {SYSTEM_NAMESPACE} rollout status "
                    f"deployment {name}): they would not trust an API server. Run this again when they have ended"
                )
            self.sleep(LOOK_S)

    def _behind(self, wanted: set[str], first: Collection[str]) -> str:
        """Return a text that names those who do not trust exactly the ``wanted`` authorities yet; empty when all do."""
        published = str(((self.api.find(ROOT) or {}).get("data") or {}).get(AUTHORITIES_KEY) or "")
        if set(digests(published)) != wanted:
            place = f"{SYSTEM_NAMESPACE}/{AUTHORITIES_CONFIGMAP}"
            return f"kube-controller-manager does not publish its machines' authorities (ConfigMap {place})"
        names = [
            name
            for name, metadata in self._nodes(fresh=True).items()
            if (believed := _believed(metadata)) != wanted and (believed or name in first or not self._is_new(metadata))
        ]
        reason = (
            "have not followed yet (journalctl -u longhaul-authorities there). To continue without them: --without NAME"
        )
        return f"the nodes {', '.join(names)} {reason}" if names else ""

    def _nodes(self, *, fresh: bool = False) -> Mapping[str, Mapping[str, Any]]:
        """Return the metadata of each Node; with ``fresh``, without reports from an earlier boot."""
        nodes = {
            node["metadata"]["name"]: _fresh(node) if fresh else node["metadata"] for node in self.api.items(NODES)
        }
        return {name: metadata for name, metadata in nodes.items() if name not in self.without}

    def _is_new(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether a Node has not had enough time to report its trusted authorities."""
        return self.clock() < datetime.fromisoformat(str(metadata["creationTimestamp"])) + FIRST_WORD


def _is_rolled_out(deployment: Mapping[str, Any]) -> bool:
    """Return whether all pods of a Deployment have its last change (kubectl's `rollout status` asks the same)."""
    status = deployment.get("status") or {}
    counts = {int(status.get(key) or 0) for key in ("replicas", "updatedReplicas", "availableReplicas")}
    is_current = int(status.get("observedGeneration") or 0) >= int(deployment["metadata"].get("generation") or 0)
    return is_current and counts == {int(deployment["spec"].get("replicas", 1))}


def _fresh(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a Node's metadata, without its report when the machine was restarted since."""
    metadata: Mapping[str, Any] = node["metadata"]
    annotations = metadata.get("annotations") or {}
    runs = ((node.get("status") or {}).get("nodeInfo") or {}).get("bootID", "")
    if annotations.get(AUTHORITIES_BOOT, runs) == runs:
        return metadata
    return {**metadata, "annotations": {key: value for key, value in annotations.items() if key != AUTHORITIES}}


def _believed(metadata: Mapping[str, Any]) -> set[str]:
    annotation = str((metadata.get("annotations") or {}).get(AUTHORITIES) or "")
    return set(annotation.split(",")) - {""}
