"""Search for processes of pods on this node, by the cgroups that the kubelet makes for pods."""

from __future__ import annotations

from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")

ALL = ("kubepods.slice", "kubepods")
"""Cgroups that contain all pods' cgroups, for either cgroup driver (k8s.io/kubernetes, pkg/kubelet/cm:
node_container_manager_linux.go, and cgroup_manager_linux.go, ToSystemd)."""

GUARANTEED = ("kubepods.slice/kubepods-pod*", "kubepods/pod*")
"""Cgroups of Guaranteed pods. The cgroups of other pods are one level below, in ``burstable`` and ``besteffort``
(pod_container_manager_linux.go, GetPodContainerName)."""


def running(patterns: tuple[str, ...], *, cgroups: Path = CGROUPS) -> bool:
    """Return whether any process is in a matching cgroup or below it. In cgroup version 1, the same folders are below
    each controller's folder."""
    for pattern in patterns:
        for cgroup in (*cgroups.glob(pattern), *cgroups.glob(f"*/{pattern}")):
            if any(_has_processes(file) for file in cgroup.rglob("cgroup.procs")):
                return True
    return False


def _has_processes(file: Path) -> bool:
    try:
        return bool(file.read_text().strip())
    except OSError:
        # The cgroup ended in between, or holds only threads; their process is counted in its own cgroup.
        return False
