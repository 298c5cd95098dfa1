"""A machine's Node and pods: their deletion, and what a root user on the node can use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.paths import NODES, PODS
from contract.taints import QUARANTINE_TAINT

CLOSE_TRIES = 20
"""Number of attempts to write a Node that other programs write meanwhile."""


@dataclass(frozen=True, kw_only=True)
class NodeExposure:
    """Identities and Secrets that root on a node can use, each as ``namespace/name``."""

    pods: tuple[str, ...]
    accounts: tuple[str, ...]
    """Service accounts of its pods. Their tokens become invalid with the pods."""
    secrets: tuple[str, ...]
    """Secrets of its pods. They remain known to an attacker."""


def pod_exposure(api: Api, node: str) -> NodeExposure:
    """Return the service accounts and Secrets of a node's pods."""
    pods = list(_pods(api, node))
    return NodeExposure(
        pods=_named((pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods),
        accounts=_named(
            (pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName") or "default") for pod in pods
        ),
        secrets=_named((pod["metadata"]["namespace"], name) for pod in pods for name in _secrets(pod["spec"])),
    )


def keep_pods_off(api: Api, node: str) -> None:
    """Keep new pods off a Node; do nothing when it does not exist. Raise ``ApiError`` when other programs write the
    Node at every attempt."""
    for left in reversed(range(CLOSE_TRIES)):
        try:
            _close(api, node)
            return
        except ApiError as error:
            if error.status != 409 or not left:
                raise


def _close(api: Api, node: str) -> None:
    path = NODES + path_of(node)
    live = api.find(path)
    if live is None:
        return
    others = [taint for taint in live["spec"].get("taints") or () if taint.get("key") != QUARANTINE_TAINT["key"]]
    body = {
        "metadata": {"resourceVersion": live["metadata"]["resourceVersion"]},
        "spec": {"unschedulable": True, "taints": [*others, QUARANTINE_TAINT]},
    }
    try:
        api.patch(path, body)
    except ApiError as error:
        if error.status != 404:
            raise


def remove_node(api: Api, node: str) -> int:
    """Delete a machine's pods at once, and its Node; return the number of pods. From then on the pods' tokens are
    invalid, since each token is bound to its pod (kubernetes.io, "Service Accounts", "Bound service account
    tokens")."""
    number = 0
    for pod in list(_pods(api, node)):
        path = path_of("api", "v1", "namespaces", pod["metadata"]["namespace"], "pods", pod["metadata"]["name"])
        # Nothing ends its processes, since the kubelet is refused. The machine is off or isolated by now.
        api.delete(path, uid=pod["metadata"]["uid"], grace_s=0)
        number += 1
    live = api.find(NODES + path_of(node))
    if live is not None:
        api.delete(NODES + path_of(node), uid=live["metadata"]["uid"])
    return number


def _pods(api: Api, node: str) -> Iterator[Object]:
    return api.items(PODS, fieldSelector=f"spec.nodeName={node}")


def _secrets(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the Secrets that a pod uses."""
    for reference in spec.get("imagePullSecrets") or ():
        yield str(reference.get("name", ""))
    yield from _of_volumes(spec.get("volumes") or ())
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            for source in container.get("envFrom") or ():
                yield str((source.get("secretRef") or {}).get("name", ""))
            for variable in container.get("env") or ():
                yield str(((variable.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name", ""))


def _of_volumes(part: Any) -> Iterator[str]:
    """Yield the names of the Secrets in a pod's volumes of any kind (kubernetes 1.36, pkg/api/v1/pod,
    ``VisitPodSecretNames``)."""
    if isinstance(part, Mapping):
        yield str(part.get("secretName", ""))
        for key, value in part.items():
            if key in ("secret", "secretRef", "nodePublishSecretRef") and isinstance(value, Mapping):
                yield str(value.get("name", ""))
            yield from _of_volumes(value)
    elif isinstance(part, list | tuple):
        for child in part:
            yield from _of_volumes(child)


def _named(secrets: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({f"{namespace}/{name}" for namespace, name in secrets if name}))
