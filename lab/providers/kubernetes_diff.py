"""Finds the changes between two versions of an object, and the changes that need a replacement.

After pulumi-kubernetes, ``provider/pkg/provider/diff.go`` and ``convertPatchToDiff``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from clouds.base.inputs import UNKNOWN
from lab.providers.kubernetes_objects import Object, is_kind

Path = tuple[str | int, ...]
_SELECTOR = ("spec.selector",)
_ROLE = ("roleRef",)
_CONTAINER = (
    "args command env image imagePullPolicy lifecycle livenessProbe ports readinessProbe resources securityContext "
    "stdin stdinOnce terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir"
)
_POD = (
    "affinity automountServiceAccountToken dnsConfig dnsPolicy enableServiceLinks hostAliases hostIPC hostNetwork "
    "hostPID hostname imagePullSecrets nodeName nodeSelector overhead preemptionPolicy priority priorityClassName "
    "readinessGates restartPolicy runtimeClassName schedulerName securityContext serviceAccount serviceAccountName "
    "shareProcessNamespace subdomain terminationGracePeriodSeconds volumes"
)
_VOLUME = (
    "awsElasticBlockStore azureDisk azureFile cephfs cinder csi fc flexVolume flocker gcePersistentDisk glusterfs "
    "hostPath iscsi local nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume"
)


def _specs(words: str, base: str = "spec") -> tuple[str, ...]:
    return tuple(f"{base}.{word}" for word in words.split())


FORCED: dict[tuple[str, str], tuple[str, ...]] = {
    ("apps", "DaemonSet"): _SELECTOR,
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "StatefulSet"): (
        *_SELECTOR,
        *_specs("podManagementPolicy revisionHistoryLimit serviceName volumeClaimTemplates"),
    ),
    ("", "PersistentVolume"): _specs(_VOLUME),
    ("", "PersistentVolumeClaim"): _specs("accessModes selector storageClassName volumeName"),
    ("", "Pod"): (
        *_specs(_POD),
        *_specs(_CONTAINER, "spec.containers"),
        *_specs(_CONTAINER, "spec.initContainers"),
    ),
    ("", "ResourceQuota"): ("spec.scopes",),
    ("", "Secret"): ("type",),
    ("", "Service"): ("spec.clusterIP",),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): _ROLE,
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner"),
    ("batch", "Job"): _specs("completions parallelism selector template"),
}
"""Paths whose change needs a replacement of the object, by group and kind."""


@dataclass(frozen=True, kw_only=True)
class ObjectDifference:
    """One difference."""

    path: str
    """Path as the engine writes it: ``metadata.labels["a.b"]``, ``spec.ports[0].port``."""
    kind: Literal["add", "delete", "update"]
    replaces: bool


def changes(old: Object, new: Object, *, forced: tuple[str, ...]) -> list[ObjectDifference]:
    """Return every difference between ``old``, which is live, and ``new``, which is wanted."""
    return [
        ObjectDifference(path=_written(path), kind=kind, replaces=_forces(path, value, forced))
        for path, kind, value in _compared(old, new, ())
    ]


def forced_paths(obj: Object, *, mutable_maps: bool, mutable_secrets: bool) -> tuple[str, ...]:
    """Return the paths for which the real plugin replaces an object."""
    always = ("metadata.name", "metadata.namespace")
    if is_kind(obj, "v1", "ConfigMap") and (not mutable_maps or obj.get("immutable")):
        return (*always, "binaryData", "data")
    if is_kind(obj, "v1", "Secret") and (not mutable_secrets or obj.get("immutable")):
        return (*always, "type", "stringData", "data")
    group, _, _ = str(obj.get("apiVersion", "")).rpartition("/")
    return (*always, *FORCED.get((group, str(obj.get("kind", ""))), ()))


def _compared(old: Any, new: Any, path: Path) -> Iterator[tuple[Path, Literal["add", "delete", "update"], Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = [(key, old.get(key, _Missing), new.get(key, _Missing)) for key in sorted(old.keys() | new.keys())]
    elif isinstance(old, list) and isinstance(new, list):
        pairs = [
            (index, old[index] if index < len(old) else _Missing, new[index] if index < len(new) else _Missing)
            for index in range(max(len(old), len(new)))
        ]
    else:
        if new == UNKNOWN or old != new:
            yield path, "update", new
        return
    for key, before, after in pairs:
        here = (*path, key)
        if before is _Missing:
            yield here, "add", after
        elif after is _Missing:
            yield here, "delete", None
        else:
            yield from _compared(before, after, here)


class _Missing:
    """Stands for an absent value, which is not the same as null."""


def _forces(path: Path, value: Any, forced: tuple[str, ...]) -> bool:
    """Return whether a change forces a replacement: its path is at or below a forced path, or its value holds a forced
    path."""
    bare = [str(part) for part in path if isinstance(part, str)]
    for pattern in forced:
        parts = pattern.split(".")
        if parts == bare[: len(parts)]:
            return True
        if bare == parts[: len(bare)] and _has(value, parts[len(bare) :]):
            return True
    return False


def _has(value: Any, parts: list[str]) -> bool:
    if isinstance(value, list):
        return any(_has(item, parts) for item in value)
    if not parts:
        return True
    return isinstance(value, dict) and parts[0] in value and _has(value[parts[0]], parts[1:])


def _written(path: Path) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif any(mark in part for mark in '."[]'):
            text += '["' + part.replace('"', '\\"') + '"]'
        else:
            text += f".{part}" if text else part
    return text
