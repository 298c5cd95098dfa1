"""Properties of a node, in clouds and racks alike: name, labels, reserved resources, packet size.

A cloud machine learns its name, zone and addresses from its cloud (``node/place.py`` in images/rootfs); for a host they
follow from the address plan. The node controller derives them by the same rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

from clouds.base.pool import Taint
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.hosts.places import HostPlace, host_places
from components.model.network.address_plan import FRONTEND, POD_PREFIX, AddressPlan
from components.model.network.links import LinkKind, links
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
from contract.objects import CLUSTER_DOMAIN
from contract.taints import PREFLIGHT_EFFECT, PREFLIGHT_TAINT, PREFLIGHT_VALUE

POD_ADDRESSES = 2 ** (32 - POD_PREFIX)
"""Number of addresses for pods on one node, in every cloud and rack."""

MAX_PODS = POD_ADDRESSES
"""Largest number of pods on one node. Every address of the range is for a pod: `host-local` gets the range's first and
last address as its bounds, so it keeps none for network and broadcast, and the pods' gateway is the node's own address.
The kubelet also counts pods in the host's network, so a node never has more pods than addresses. To change it, change
``POD_PREFIX`` of the address plan."""

ETHERNET_MTU = 1500
"""Largest packet, in bytes, between sites without tunnels, and inside a site for which no larger size is known."""

ESP_OVERHEAD = 20 + 8 + 8 + 8 + 2 + 16
"""Bytes that a tunnel adds to a packet: outer IPv4 header, UDP header (NAT traversal, RFC 3948), SPI and sequence
number, AES-GCM's IV, pad length and next header, AES-GCM's ICV (RFC 4303, RFC 4106). Of 1,500 bytes 1,438 are left.
docs.aws.amazon.com has the same number under "Best practices for a customer gateway device" for AES-GCM-16 with NAT
traversal."""

TUNNEL_MTU = 1400
"""Largest packet through a tunnel, bytes. It is smaller than the overhead allows, because Azure's gateways accept no
more (learn.microsoft.com, "About VPN devices"); strongSwan's user-space ESP has the same default."""

TUNNEL_MSS = 1350
"""Size in bytes to which gateways clamp TCP segments, for machines whose interface allows larger packets than a tunnel.
It is Azure's number (same page); AWS asks for 1,398 at most."""

HOSTS = "hosts"
"""Name of the pool of hosts in commands and messages."""


HOST_VCPUS = 64
"""Number of cores assumed for every host; only its reserved resources and the process limit of a pod depend on it."""

PIDS_PER_CPU = 1_024
LEAST_PIDS = 4_096
"""Number of processes that a pod may have on the smallest machines: the default of OpenShift's nodes."""

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


@dataclass(frozen=True, kw_only=True)
class HostNode:
    """A bare-metal host as a node."""

    node_name: str
    """``<env>-<host>``, also the machine's name."""
    provider_id: str
    place: HostPlace


def api_address(environment: Environment, addresses: AddressPlan) -> IPv4Address:
    """Return the address of the API servers' load balancer, for every node and pod. It is an IP address, because only
    the control plane's own network knows the private zone; the serving certificates contain it."""
    return addresses.sites[environment.control_plane.site].subnet("api")[FRONTEND]


def api_url(environment: Environment, addresses: AddressPlan) -> str:
    """Return the URL of the API at this address."""
    return f"https://{api_address(environment, addresses)}:{environment.control_plane.api.port}"


def cluster_for_laptops(environment: Environment) -> dict[str, Any]:
    """Return what laptops in the VPN need to know about the cluster: the API's address, and the DNS zones inside."""
    return {
        "server": f"https://{environment.api_name}:{environment.control_plane.api.port}",
        "zones": [environment.domain, CLUSTER_DOMAIN],
    }


def pod_mtu(environment: Environment) -> int:
    """Return the largest packet of a pod, bytes. It is one number for the environment, so that any two pods agree."""
    tunnels = any(link.kind is not LinkKind.BACKBONE for link in links(environment))
    return TUNNEL_MTU if tunnels else ETHERNET_MTU


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


def gpu_taints(gpus: int) -> tuple[Taint, ...]:
    """Return the taints that keep pods from a node with this number of GPUs until the GPUs are known to be healthy."""
    return (Taint(key=PREFLIGHT_TAINT, value=PREFLIGHT_VALUE, effect=PREFLIGHT_EFFECT),) if gpus else ()


def host_node_name(environment: Environment, host_name: str) -> str:
    """Return the name of a host's machine and node."""
    return f"{environment.name}-{host_name}"


def host_nodes(environment: Environment, addresses: AddressPlan) -> dict[str, HostNode]:
    """Return every host as a node, by its name in the hosts file."""
    return {
        place.name: HostNode(
            node_name=host_node_name(environment, place.name),
            provider_id=f"longhaul://{environment.name}/{place.site}/{place.name}",
            place=place,
        )
        for place in host_places(environment, addresses)
    }


def on_nodes(pool_name: str) -> str:
    """Return the value of Nodes' label for a pool."""
    return HOSTS_POOL_LABEL if pool_name == HOSTS else pool_name


def pool_taints(environment: Environment, pool_name: str) -> tuple[Taint, ...]:
    """Return the taints with which a pool's nodes register; hosts have none."""
    return () if pool_name == HOSTS else environment.pools[pool_name].taints


def kube_reserved(vcpus: int) -> dict[str, str]:
    """Return the resources reserved for kubelet and containerd, in Kubernetes' units. CPU: 6 % of the first core, 1 %
    of the second, 0.5 % of the next two and 0.25 % of the rest. Memory: by the number of pods. The numbers are from
    awslabs/amazon-eks-ami, nodeadm, ``kubelet/config.go``; the shares of cores are GKE's."""
    shares = [60.0, 10.0, 5.0, 5.0] + [2.5] * max(vcpus - 4, 0)
    return {
        "cpu": f"{round(sum(shares[:vcpus]))}m",
        "memory": f"{255 + 11 * MAX_PODS}Mi",
        "ephemeral-storage": "1Gi",
    }


def pod_pids(vcpus: int) -> int:
    """Return the largest number of processes and threads of one pod: as many for each core as the kernel assumes
    (linux, include/linux/threads.h, ``PIDS_PER_CPU_DEFAULT``), so that a pod with a whole machine of eight GPUs has
    room for its data loaders' threads."""
    return max(LEAST_PIDS, PIDS_PER_CPU * vcpus)


def label_fault(key: str) -> str | None:
    """Return the reason why a pool cannot have a label with this key; ``None`` when it can. A kubelet refuses to start
    with a Kubernetes label that it may not set (k8s.io/kubelet, ``apis.IsKubeletLabel``)."""
    if key in _OWN_LABELS:
        return "is set by Longhaul"
    if _KUBERNETES.match(key) and not _KUBELETS.match(key):
        return "is a label of Kubernetes' own that a node may not give itself"
    return None
