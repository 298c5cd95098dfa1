"""Node and pods of a machine: their deletion, and everything that they give away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.drain import NODES, PODS
from contract.taints import QUARANTINE_TAINT

CLOSE_TRIES = 20
"""Number of times that a Node is written which others write meanwhile."""


@dataclass(frozen=True, kw_only=True)
class NodeExposure:
    """Everything that whoever is root on a node can be and read, each as ``namespace/name``."""

    pods: tuple[str, ...]
    accounts: tuple[str, ...]
    """Service accounts of its pods. Their tokens end with the pods."""
    secrets: tuple[str, ...]
    """Secrets of its pods. They stay known."""


def pod_exposure(api: Api, node: str) -> NodeExposure:
    """Return what the pods of a node give away."""
    pods = list(_pods(api, node))
    return NodeExposure(
        pods=_named((pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods),
        accounts=_named(
            (pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName") or "default") for pod in pods
        ),
        secrets=_named((pod["metadata"]["namespace"], name) for pod in pods for name in _secrets(pod["spec"])),
    )


def close(api: Api, node: str) -> None:
    """Keep everything new off a Node; do nothing when there is none. Raise ``ApiError`` when others write it each
    time."""
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


def remove(api: Api, node: str) -> int:
    """Delete a machine's pods at once, and its Node; return the number of pods. The tokens of the pods are void from
    then on, since each is bound to its pod (kubernetes.io, "Service Accounts", "Bound service account tokens")."""
    number = 0
    for pod in list(_pods(api, node)):
        path = path_of("api", "v1", "namespaces", pod["metadata"]["namespace"], "pods", pod["metadata"]["name"])
        # Nobody ends its processes: the kubelet is refused. The machine is off or cut off by now.
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
    """Yield the names of the Secrets in a pod's volumes, of whatever kind (kubernetes 1.36, pkg/api/v1/pod,
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
