"""A node's own Node object, with the kubelet's certificate. What a node may do with it: the Node authorizer and the
admission plugin NodeRestriction (k8s.io/kubernetes, ``plugin/pkg/auth/authorizer/node`` and
``plugin/pkg/admission/noderestriction``): its status, its labels outside of Kubernetes' own domains, its annotations;
never its taints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.api import Api, Object
from controller.events import Events

from gpu.names import TAINT

NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
OVER = ("Succeeded", "Failed")
COMPONENT = "longhaul-gpu-preflight"

VENDOR = "nvidia.com/"
"""What the device plugin's resources begin with: nvidia.com/gpu, nvidia.com/mig-1g.10gb."""


class NotRegisteredError(Exception):
    """The kubelet has not registered the Node yet."""


class OwnNode:
    """The Node called ``name``; ``ApiError`` of any of its functions is for the caller, who comes again."""

    def __init__(self, api: Api, name: str) -> None:
        self.name = name
        self._api, self._path = api, f"{NODES}/{name}"
        self._events = Events(api, instance=name, component=COMPONENT)

    def read(self) -> Object:
        """As it is; ``NotRegisteredError``."""
        found = self._api.find(self._path)
        if found is None:
            raise NotRegisteredError(f"there is no Node {self.name} yet: see kubelet.service")
        return found

    def holders(self) -> list[str]:
        """Pods that have GPUs, or may have them by a claim: namespace and name."""
        pages = self._api.pages(PODS, fieldSelector=f"spec.nodeName={self.name}")
        pods = (pod for page in pages for pod in page.get("items") or [])
        return sorted(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in pods if holds_gpus(pod))

    def write(
        self, *, conditions: list[dict[str, str]], labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> None:
        """All of it at once, so that nobody sees one without the other: a status may bring metadata along
        (k8s.io/component-helpers, ``node/util``, preparePatchBytesForNodeStatus)."""
        metadata = {"labels": dict(labels), "annotations": dict(annotations)}
        document = {"metadata": metadata, "status": {"conditions": conditions}}
        self._api.patch(f"{self._path}/status", document, strategic=True)

    def say(self, *, reason: str, message: str, warning: bool) -> None:
        """An Event about it."""
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "uid": self.name}}
        self._events.say(about, reason=reason, message=message, warning=warning)


def holds_gpus(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is not over and was given devices, or has claims, which do not say here of what."""
    if pod.get("status", {}).get("phase") in OVER:
        return False
    spec = pod["spec"]
    return bool(spec.get("resourceClaims")) or any(map(_asks, _containers(spec)))


def _containers(spec: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _asks(container: Mapping[str, Any]) -> bool:
    limits = container.get("resources", {}).get("limits") or {}
    return any(name.startswith(VENDOR) and str(count) != "0" for name, count in limits.items())


def tainted(node: Mapping[str, Any]) -> bool:
    """Whether the scheduler keeps pods away from it until its GPUs passed their test."""
    return any(taint["key"] == TAINT for taint in node.get("spec", {}).get("taints") or ())


def by_type(node: Mapping[str, Any]) -> dict[str, Any]:
    """Its conditions."""
    return {one["type"]: one for one in node.get("status", {}).get("conditions") or ()}
