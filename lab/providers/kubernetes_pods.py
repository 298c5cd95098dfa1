"""Why pods are not ready, in words."""

from __future__ import annotations

from typing import Any

from lab.providers.kubernetes_client import Client
from lab.providers.kubernetes_objects import Object, metadata

MOST = 5
"""Pods that are told of; the others fail alike."""


def pod_problems(client: Client, live: Object, *, owner: Object | None) -> list[str]:
    """What keeps an object's pods from being ready; of a pod itself, ``owner`` is ``None``."""
    if owner is None:
        return _problems(live)
    meta = metadata(owner)
    pods = [
        pod
        for pod in client.items("v1", "Pod", namespace=meta.get("namespace"))
        if meta.get("uid") in [one.get("uid") for one in metadata(pod).get("ownerReferences") or []]
    ]
    told = [problem for pod in pods for problem in _problems(pod)]
    return told[:MOST] + ([f"and {len(told) - MOST} more"] if len(told) > MOST else [])


def _problems(pod: Object) -> list[str]:
    status, meta = pod.get("status") or {}, metadata(pod)
    conditions = {one.get("type"): one for one in status.get("conditions") or []}
    if status.get("phase") == "Succeeded" or conditions.get("Ready", {}).get("status") == "True":
        return []
    said = [
        conditions[kind]["message"]
        for kind in ("PodScheduled", "Initialized", "Ready")
        if conditions.get(kind, {}).get("status") == "False" and conditions[kind].get("message")
    ][:1]
    said += [one for container in status.get("containerStatuses") or [] for one in _container(container)]
    return [f"[Pod {meta.get('namespace')}/{meta.get('name')}]: {'; '.join(said)}"] if said else []


def _container(status: dict[str, Any]) -> list[str]:
    if status.get("ready"):
        return []
    said = []
    waiting = (status.get("state") or {}).get("waiting") or {}
    if waiting and waiting.get("reason") != "ContainerCreating":
        said.append(f"[{waiting.get('reason', '')}] {waiting.get('message', '')}")
    ended = (status.get("state") or {}).get("terminated") or (status.get("lastState") or {}).get("terminated") or {}
    if ended:
        words = ended.get("message") or ended.get("reason") or ""
        said.append(f"container {status.get('name')!r} ended with {ended.get('exitCode')}: {words}")
    return said
