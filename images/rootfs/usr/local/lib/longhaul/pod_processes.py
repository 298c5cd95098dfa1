"""Whether processes of pods run on this node, by the cgroups that the kubelet makes for them."""

from __future__ import annotations

from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")

ALL = ("kubepods.slice", "kubepods")
"""Cgroups that hold every pod's, by either cgroup driver (k8s.io/kubernetes, pkg/kubelet/cm:
node_container_manager_linux.go, and cgroup_manager_linux.go, ToSystemd)."""

GUARANTEED = ("kubepods.slice/kubepods-pod*", "kubepods/pod*")
"""Cgroups of Guaranteed pods; those of other classes are one level below, in ``burstable`` and ``besteffort``
(pod_container_manager_linux.go, GetPodContainerName)."""


def running(patterns: tuple[str, ...], *, cgroups: Path = CGROUPS) -> bool:
    """Whether any process is in such a cgroup or below it. Version 1 has the same folders below each controller's."""
    for pattern in patterns:
        for found in (*cgroups.glob(pattern), *cgroups.glob(f"*/{pattern}")):
            if any(_has_processes(file) for file in found.rglob("cgroup.procs")):
                return True
    return False


def _has_processes(file: Path) -> bool:
    try:
        return bool(file.read_text().strip())
    except OSError:
        # It ended in between, or holds threads alone, whose process is counted where it is.
        return False
