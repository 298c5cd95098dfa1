"""Pods that call each other: one pod, and a Service with the pod's name, on each site that has nodes. Pods and Services
are in a namespace that is deleted afterwards.

The image is Kubernetes' own test image, an HTTP server that calls others when asked (github.com/kubernetes/kubernetes,
test/images/agnhost, ``netexec``). The pods are reached through the API servers' proxy, so no route to pods is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.paths import NAMESPACES
from contract.kubernetes.readiness import is_ready
from contract.labels import OUTLIVE_LABEL, SITE_LABEL

if TYPE_CHECKING:
    from longhaul.acceptance.time_limit import Deadline

IMAGE = "registry.k8s.io/e2e-test-images/agnhost"
NAMESPACE = "longhaul-acceptance"
PORT = 8080
UNRESOLVED = 400
"""HTTP status of the image when a name has no address (the same source, ``netexec.go``, ``dialHandler``)."""


@dataclass(frozen=True, kw_only=True)
class TestPod:
    """A pod that serves and calls HTTP, and a Service of its name."""

    api: Api
    namespace: str
    name: str
    address: str
    node: str

    def dial(self, host: str, request: str = "hostname", *, port: int = PORT) -> str:
        """Have the pod call ``host`` (an address or a name), and return the host's answer; empty when it does not
        answer."""
        path = path_of("api", "v1", "namespaces", self.namespace, "pods", f"{self.name}:{PORT}", "proxy", "dial")
        try:
            answer = self.api.get(path, host=host, port=str(port), protocol="http", request=request, tries="1")
        except ApiError as error:
            if not error.passing and error.status != UNRESOLVED:
                raise
            return ""
        return str((answer.get("responses") or [""])[0])


@contextmanager
def namespace(api: Api, limit: Callable[[], Deadline], name: str = NAMESPACE) -> Iterator[str]:
    """Create a namespace and delete it after the block. A namespace that a killed run left is deleted first. ``limit``
    is called anew for each wait."""
    remove(api, limit(), name)
    api.post(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    try:
        yield name
    finally:
        # Deletion is requested even when time is over, and awaited for the time that is left.
        remove(api, limit(), name)


def remove(api: Api, limit: Deadline, name: str = NAMESPACE) -> None:
    """Delete a namespace with all that is in it, and wait until it is gone."""
    live = api.find(NAMESPACES + path_of(name))
    if live is None:
        return
    api.delete(NAMESPACES + path_of(name), uid=live["metadata"]["uid"])
    limit.await_items(
        api,
        NAMESPACES,
        lambda items: f"{name} is still there" if items else "",
        what="the namespace is gone",
        fieldSelector=f"metadata.name={name}",
    )


def ready_pods(
    api: Api,
    limit: Deadline,
    image: str,
    sites: Mapping[str, str],
    *,
    tolerations: Mapping[str, Sequence[Object]],
    space: str = NAMESPACE,
) -> dict[str, TestPod]:
    """Create a pod of each name on a node of its site, and return when all are ready."""
    root = NAMESPACES + path_of(space)
    for name, site in sites.items():
        api.post(f"{root}/pods", pod_manifest(name, site, image, tolerations=tolerations.get(site, ())))
        api.post(f"{root}/services", service_manifest(name))
    pods = await_pods(api, limit, space, len(sites))
    return {
        name: TestPod(api=api, namespace=space, name=name, address=it["status"]["podIP"], node=it["spec"]["nodeName"])
        for name, it in pods.items()
    }


def await_pods(api: Api, limit: Deadline, space: str, count: int) -> dict[str, Object]:
    """Return a namespace's pods by name, once ``count`` pods exist and all are ready."""
    observed: list[Object] = []

    def why_not(items: list[Object]) -> str:
        observed[:] = items
        few = [f"{len(items)} pods of {count}"] if len(items) < count else []
        unready = [f"pod {_name(item)} is not ready{_why(item)}" for item in items if not is_ready(item)]
        return "; ".join([*few, *unready])

    limit.await_items(api, f"{NAMESPACES}{path_of(space)}/pods", why_not, what="all pods are ready")
    return {_name(item): item for item in observed}


def pod_manifest(name: str, site: str, image: str, *, tolerations: Sequence[Object] = ()) -> Object:
    """Return a pod that serves and calls HTTP, for a node of this site."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name, OUTLIVE_LABEL: "true"}},
        "spec": {
            "nodeSelector": {SITE_LABEL: site},
            "tolerations": list(tolerations),
            "containers": [
                {
                    "name": "agnhost",
                    "image": image,
                    "args": ["netexec", f"--http-port={PORT}"],
                    "readinessProbe": {"httpGet": {"path": "/healthz", "port": PORT}, "periodSeconds": 1},
                }
            ],
            "terminationGracePeriodSeconds": 1,
        },
    }


def service_manifest(name: str) -> Object:
    """Return a Service with the pod's name."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": PORT}]},
    }


def _name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])


def _why(item: Mapping[str, Any]) -> str:
    """Return the scheduler's or the kubelet's message about the pod, in brackets; empty when there is none."""
    status = item.get("status", {})
    waiting = [
        container_status.get("state", {}).get("waiting", {}) for container_status in status.get("containerStatuses", ())
    ]
    messages = [f"{state.get('reason')}: {state.get('message', '')}" for state in waiting if state]
    messages += [str(condition["message"]) for condition in status.get("conditions", ()) if condition.get("message")]
    return f" ({messages[0]})" if messages else ""
