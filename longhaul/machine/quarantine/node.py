"""A machine's Node and pods: their deletion, and what a root user on the node can use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contract.kubernetes.api import Api, path_of
from contract.kubernetes.connection import ApiError, Object
from contract.kubernetes.paths import NAMESPACES, NODES, PODS
from contract.taints import QUARANTINE_TAINT

CLOSE_TRIES = 20
"""Number of attempts to write a Node that other programs write meanwhile."""
PAUSE_S = 0.5
"""Seconds between two looks at deleted objects."""
CONTROLLERS_TRIES = 20
"""Number of looks at deleted objects before their finalizers are removed. The controllers of Jobs and of Kueue count
pods by finalizers, and remove those within a second or two."""
GONE_TRIES = 120
"""Number of looks until all deleted objects must be gone."""


@dataclass(frozen=True, kw_only=True)
class NodeExposure:
    """Identities and Secrets that root on a node can use, each as ``namespace/name``."""

    pods: tuple[str, ...]
    accounts: tuple[str, ...]
    """Service accounts of its pods. Their tokens become invalid with the pods."""
    secrets: tuple[str, ...]
    """Secrets of its pods. They remain known to an attacker."""


@dataclass(frozen=True, kw_only=True)
class NodeRemoval:
    """Objects that were removed with a Node."""

    pods: int
    """Number of the machine's pods."""
    finalizers: tuple[str, ...]
    """Finalizers that no controller removed, each with its object's name."""


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


def remove_node(api: Api, node: str, *, pause: Callable[[float], None]) -> NodeRemoval:
    """Delete a machine's pods at once, and its Node, and return once all are gone. Tokens of the pods' accounts are
    bound to the pods (kubernetes.io, "Service Accounts", "Bound service account tokens"), and end with them.

    A finalizer keeps a deleted object, and a deleted pod's tokens are valid for a minute longer (kubernetes 1.36,
    ``pkg/serviceaccount/claims.go``, which allows for ``jwt.DefaultLeeway``). Root on a node may have added finalizers,
    so those that their controllers have not removed after :data:`CONTROLLERS_TRIES` looks are removed here. Raise
    ``ApiError`` when objects remain."""
    pods, finalizers = set[str](), set[str]()
    for attempt in range(GONE_TRIES):
        remaining = list(_objects(api, node))
        if not remaining:
            break
        for path, live in remaining:
            metadata = live["metadata"]
            if path.startswith(f"{NAMESPACES}/"):
                pods.add(metadata["uid"])
            if not _is_ended(metadata):
                # Nothing ends the processes, since the kubelet is refused. The machine is off or isolated by now.
                api.delete(path, uid=metadata["uid"], grace_s=0)
            elif attempt >= CONTROLLERS_TRIES:
                finalizers |= _finalize(api, path, metadata)
        pause(PAUSE_S)
    else:
        raise ApiError(f"{', '.join(path for path, _ in remaining)}: deleted, but still there")
    return NodeRemoval(pods=len(pods), finalizers=tuple(sorted(finalizers)))


def _objects(api: Api, node: str) -> Iterator[tuple[str, Object]]:
    """Yield a machine's pods, then its Node, each with its path."""
    for pod in list(_pods(api, node)):
        metadata = pod["metadata"]
        yield NAMESPACES + path_of(metadata["namespace"], "pods", metadata["name"]), pod
    live = api.find(NODES + path_of(node))
    if live is not None:
        yield NODES + path_of(node), live


def _is_ended(metadata: Mapping[str, Any]) -> bool:
    """Return whether only finalizers keep an object. A pod that was deleted before may still have time to end."""
    return "deletionTimestamp" in metadata and not metadata.get("deletionGracePeriodSeconds")


def _finalize(api: Api, path: str, metadata: Mapping[str, Any]) -> set[str]:
    """Remove an object's finalizers, and return a phrase for each."""
    finalizers = {f"{finalizer} of {path.rpartition('/')[2]}" for finalizer in metadata.get("finalizers") or ()}
    try:
        api.patch(path, {"metadata": {"uid": metadata["uid"], "finalizers": None}})
    except ApiError as error:
        # It is gone, or another object has its name: the next look tells.
        if error.status not in (404, 409):
            raise
        return set()
    return finalizers


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
