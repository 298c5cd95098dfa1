"""Pods that run before and after a drill."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Known = Mapping[str, tuple[str, ...]]
"""Identity of each pod: its uid, and for each container the id and the number of restarts."""


def running(pods: Iterable[Mapping[str, Any]]) -> Known:
    """Return the running pods."""
    return {name_of(pod): _identity(pod) for pod in pods if pod["status"].get("phase") == "Running"}


def disturbances(before: Known, after: Known) -> tuple[str, ...]:
    """Return one sentence for each pod that was restarted, replaced or stopped."""
    return tuple(
        f"{name} is gone" if name not in after else f"{name} was restarted or replaced"
        for name in sorted(before)
        if after.get(name) != before[name]
    )


def name_of(pod: Mapping[str, Any]) -> str:
    """Return a pod's namespace and name."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _identity(pod: Mapping[str, Any]) -> tuple[str, ...]:
    states = pod["status"].get("containerStatuses") or ()
    containers = sorted(f"{state.get('containerID', '')} {state['restartCount']}" for state in states)
    return (pod["metadata"]["uid"], *containers)
