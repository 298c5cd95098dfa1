"""Labels of a pool's new node that the environment's file does not name: the kubelet's labels, and the zone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clouds.registry import cloud_of
from components.model.sites.places import place_of
from contract.labels import ZONE_LABEL
from services.autoscaler.pod_shapes import DECLARES, RESTARTS_ALL

if TYPE_CHECKING:
    from clouds.base.cloud import Cloud
    from components.model import Environment
    from services.autoscaler.cluster_snapshot import LabelPairs

OS_LABELS = ("kubernetes.io/os", "beta.kubernetes.io/os")
ARCH_LABELS = ("kubernetes.io/arch", "beta.kubernetes.io/arch")
"""Labels with which every kubelet registers (kubernetes 1.36, ``pkg/kubelet/kubelet_node_status.go``, ``initialNode``).
No cloud provider adds further labels, since the kubelets run without a cloud provider."""


def new_node_labels(environment: Environment, pool: str) -> dict[str, str]:
    """Return the labels of a pool's new node that come from its kubelet, and its zone if only one is possible."""
    arch = _cloud(environment, pool).machine_types.architecture(environment.pools[pool].machine_type)
    labels = {**dict.fromkeys(OS_LABELS, "linux"), **dict.fromkeys(ARCH_LABELS, arch)}
    zones = _zones(environment, pool)
    labels[DECLARES + RESTARTS_ALL] = ""
    return {**labels, **_zone_labels(environment, pool, zones[0])} if len(zones) == 1 else labels


def zone_variants(environment: Environment, pool: str) -> tuple[LabelPairs, ...]:
    """Return the labels of a pool's new node in each of its zones; empty when only one is possible. A group that
    spreads over zones chooses the zone itself."""
    zones = _zones(environment, pool)
    variants = (tuple(sorted(_zone_labels(environment, pool, zone).items())) for zone in zones)
    return tuple(variants) if len(zones) > 1 else ()


def _zone_labels(environment: Environment, pool: str, zone: str) -> dict[str, str]:
    """Return the labels of a node in a zone, with those of the CSI driver of its cloud's disks: volumes and pods select
    by them (github.com/kubernetes/autoscaler, issue 3845)."""
    return {ZONE_LABEL: zone, **_cloud(environment, pool).groups.driver_labels(zone)}


def _zones(environment: Environment, pool: str) -> tuple[str, ...]:
    return _cloud(environment, pool).groups.zone_labels(place_of(environment, environment.pools[pool].site), pool)


def _cloud(environment: Environment, pool: str) -> Cloud[Any]:
    return cloud_of(environment.sites[environment.pools[pool].site])
