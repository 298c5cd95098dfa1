"""The node's own Node object, accessed with the kubelet's certificate. The Node authorizer and the admission plugin
NodeRestriction (k8s.io/kubernetes, ``plugin/pkg/auth/authorizer/node`` and ``plugin/pkg/admission/noderestriction``)
let a node change its status, its labels outside of Kubernetes' own domains, and its annotations, but never its
taints."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any

from node import checks as worker_checks

from contract.documents.node import PATH, Worker
from contract.kubernetes.api import Api
from contract.kubernetes.connection import Object
from contract.kubernetes.events import Events
from contract.kubernetes.machine import MachineApi
from contract.kubernetes.paths import NODES, PODS
from contract.labels import NVIDIA
from contract.taints import PREFLIGHT_TAINT

OVER = ("Succeeded", "Failed")
COMPONENT = "longhaul-gpu-preflight"


class NotRegisteredError(Exception):
    """Raised if the kubelet has not registered the Node yet."""


class OwnNode:
    """The Node called ``name``. Every method that sends requests may raise ``ApiError``."""

    def __init__(self, api: Api, name: str, *, component: str = COMPONENT) -> None:
        """``component`` is the program that writes the Node's Events."""
        self.name = name
        self._api, self._path = api, f"{NODES}/{name}"
        self._events = Events(api, instance=name, component=component)

    def read(self) -> Object:
        """Return the Node. Raise ``NotRegisteredError`` if it does not exist."""
        node = self._api.find(self._path)
        if node is None:
            raise NotRegisteredError(f"there is no Node {self.name} yet: see kubelet.service")
        return node

    def pods(self) -> list[Object]:
        """Return the pods that have not ended."""
        pages = self._api.pages(PODS, fieldSelector=f"spec.nodeName={self.name}")
        pods = (pod for page in pages for pod in page.get("items") or [])
        return [pod for pod in pods if pod.get("status", {}).get("phase") not in OVER]

    def holders(self) -> list[str]:
        """Return the namespace and name of each pod that has GPUs, or may have GPUs by a claim."""
        return sorted(
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in self.pods() if holds_gpus(pod)
        )

    def write(
        self, *, conditions: list[dict[str, str]], labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> None:
        """Write all changes in one request, so that no reader sees only a part of them. A patch of the status may
        contain metadata (k8s.io/component-helpers, ``node/util``, preparePatchBytesForNodeStatus)."""
        metadata = {"labels": dict(labels), "annotations": dict(annotations)}
        document = {"metadata": metadata, "status": {"conditions": conditions}}
        self._api.patch(f"{self._path}/status", document, strategic=True)

    def say(self, *, reason: str, message: str, warning: bool) -> None:
        """Write an Event about the Node."""
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "uid": self.name}}
        self._events.say(about, reason=reason, message=message, warning=warning)


def this_node(*, agent: str, component: str) -> OwnNode:
    """Return the Node of this machine, accessed with the kubelet's certificate. Raise ``OSError``, ``ValueError``,
    ``TypeError`` or ``AttributeError`` while the machine does not know its name."""
    paths, url = worker_checks.WorkerPaths(), Worker.read(PATH).api
    name = worker_checks.name(paths)
    if not name or not urllib.parse.urlsplit(url).hostname:
        raise ValueError(f"{paths.environment}: no name yet: see longhaul-node-place.service")
    api = MachineApi(url, authority=paths.authority, certificate=paths.certificate, agent=agent)
    return OwnNode(api, name, component=component)


def holds_gpus(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod that has not ended has GPUs, or has a claim. Every claim counts, because a pod does not show
    what its claims are for."""
    if pod.get("status", {}).get("phase") in OVER:
        return False
    spec = pod["spec"]
    return bool(spec.get("resourceClaims")) or any(map(_asks, _containers(spec)))


def _containers(spec: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _asks(container: Mapping[str, Any]) -> bool:
    limits = container.get("resources", {}).get("limits") or {}
    return any(name.startswith(NVIDIA) and str(count) != "0" for name, count in limits.items())


def tainted(node: Mapping[str, Any]) -> bool:
    """Return whether the node has the taint that keeps pods away until the node's GPUs have passed their test."""
    return any(taint["key"] == PREFLIGHT_TAINT for taint in node.get("spec", {}).get("taints") or ())


def by_type(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return the node's conditions by type."""
    return {condition["type"]: condition for condition in node.get("status", {}).get("conditions") or ()}
