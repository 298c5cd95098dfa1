"""Labels of nodes, in clouds and racks alike."""

from __future__ import annotations

import re

from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.hosts.places import HostPlace
from components.model.nodes.host_nodes import HOSTS
from components.model.pools.capacity_kinds import kind_name
from contract.labels import (
    GPU_LABEL,
    GROUP_LABEL,
    HOSTNAME_LABEL,
    HOSTS_POOL_LABEL,
    IMAGE_LABEL,
    KIND_LABEL,
    POOL_LABEL,
    RDMA_LABEL,
    REGION_LABEL,
    SITE_LABEL,
    TYPE_LABEL,
    UNCHECKED,
    ZONE_LABEL,
)

_OWN_LABELS = frozenset(
    (
        REGION_LABEL,
        ZONE_LABEL,
        SITE_LABEL,
        POOL_LABEL,
        GROUP_LABEL,
        TYPE_LABEL,
        IMAGE_LABEL,
        GPU_LABEL,
        RDMA_LABEL,
        KIND_LABEL,
        UNCHECKED,
        HOSTNAME_LABEL,
    )
)
_KUBERNETES = re.compile(r"^([a-z0-9.-]+\.)?(kubernetes|k8s)\.io/")
_KUBELETS = re.compile(r"^([a-z0-9.-]+\.)?(node|kubelet)\.kubernetes\.io/")


def pool_labels(environment: Environment, pool_name: str, *, group: str | None = None) -> dict[str, str]:
    """Return the labels of a pool's nodes without the zone, which each machine learns itself. ``group`` is their scale
    set, if any."""
    pool = environment.pools[pool_name]
    site = environment.sites[pool.site]
    if not cloud_of(site).rents:
        raise TypeError(f"pool {pool_name} is on {site.kind}, not in a cloud")
    machine = environment.machine_type(pool.machine_type)
    return {
        REGION_LABEL: site.region,
        SITE_LABEL: pool.site,
        POOL_LABEL: pool_name,
        **({GROUP_LABEL: group} if group else {}),
        TYPE_LABEL: pool.machine_type,
        KIND_LABEL: kind_name(gpus=machine.gpus, model=machine.gpu_model, spot=pool.spot),
        **gpu_labels(machine.gpus),
        **pool.labels,
    }


def host_labels(place: HostPlace, *, gpus: int = 0, gpu_model: str = "", rdma: str | None = None) -> dict[str, str]:
    """Return the labels of a host without the zone, which its address determines."""
    return {
        REGION_LABEL: place.site,
        SITE_LABEL: place.site,
        POOL_LABEL: HOSTS_POOL_LABEL,
        TYPE_LABEL: HOSTS_POOL_LABEL,
        KIND_LABEL: kind_name(gpus=gpus, model=gpu_model),
        **gpu_labels(gpus),
        **({RDMA_LABEL: rdma} if rdma else {}),
    }


def gpu_labels(gpus: int) -> dict[str, str]:
    """Return the labels that mark a node with this number of GPUs."""
    return {GPU_LABEL: "true"} if gpus else {}


def on_nodes(pool_name: str) -> str:
    """Return the value of the pool label on a pool's nodes."""
    return HOSTS_POOL_LABEL if pool_name == HOSTS else pool_name


def label_fault(key: str) -> str | None:
    """Return the reason why a pool cannot have a label with this key; ``None`` when it can. A kubelet refuses to start
    with a Kubernetes label that it may not set (k8s.io/kubelet, ``apis.IsKubeletLabel``)."""
    if key in _OWN_LABELS:
        return "is set by Longhaul"
    if _KUBERNETES.match(key) and not _KUBELETS.match(key):
        return "is a label of Kubernetes' own that a node may not give itself"
    return None
