"""What a node is, in clouds and racks alike: name, labels, what it keeps for itself, how large its packets are.

A cloud machine learns its name, zone and addresses where it stands (images/rootfs, ``node_place.py``); a rack host's
follow from the plan. The node controller knows both by the same rules.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address

from clouds.base.pool import Taint
from clouds.registry import cloud_of
from components.model.environment import Environment
from components.model.links import LinkKind, links
from components.model.network import FRONTEND, POD_PREFIX, AddressPlan
from components.model.racks import RackPlace, rack_places

POD_ADDRESSES = 2 ** (32 - POD_PREFIX)
"""Addresses for pods on one node, in every cloud and rack."""

MAX_PODS = POD_ADDRESSES
"""Pods on one node. Every address of the range is a pod's: `host-local` is told the range's first and last address
itself, so it keeps none for network and broadcast, and the pods' gateway is the node's own address. The kubelet counts
pods in the host's network too, so a node never has more pods than addresses."""

ETHERNET_MTU = 1500
"""Largest packet between sites, and inside one where nothing better is known, bytes."""

ESP_OVERHEAD = 20 + 8 + 8 + 8 + 2 + 16
"""Bytes that a tunnel adds to a packet: outer IPv4 header, UDP header (NAT traversal, RFC 3948), SPI and sequence
number, AES-GCM's IV, pad length and next header, AES-GCM's ICV (RFC 4303, RFC 4106). 1,438 bytes are left, what
docs.aws.amazon.com has under "Best practices for a customer gateway device" for AES-GCM-16 with NAT traversal."""

TUNNEL_MTU = 1400
"""Largest packet through a tunnel, bytes: below what the overhead leaves, because Azure's gateways take no more
(learn.microsoft.com, "About VPN devices"), and strongSwan's user-space ESP has the same default."""

TUNNEL_MSS = 1350
"""What gateways clamp TCP's segments to, bytes, for machines whose interface allows more than a tunnel: Azure's number
(same page); AWS asks for 1,398 at most."""

BARE_METAL_POOL = "bare-metal"
"""Pool of every rack host."""

REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"
SITE_LABEL = "longhaul.dev/site"
POOL_LABEL = "longhaul.dev/pool"
GROUP_LABEL = "longhaul.dev/group"
"""The scale set of an Azure machine: of a pool that takes several, InfiniBand joins the machines of each alone."""
TYPE_LABEL = "node.kubernetes.io/instance-type"
IMAGE_LABEL = "longhaul.dev/image"
"""Version of the image that a node's machine is of; each says its own (``node_place.py``)."""
GPU_LABEL = "nvidia.com/gpu.present"
"""``true`` on every node that GPUs are promised of: what NVIDIA's own objects choose nodes by
(github.com/NVIDIA/k8s-device-plugin, ``deployments/static``), and the node controller its GPU nodes."""

PREFLIGHT_TAINT = "longhaul.dev/preflight"
"""Key of the taint that a node with GPUs is born with. The node controller lifts it once they passed their test."""

RACK_VCPUS = 64
"""Cores that a rack host is taken to have where only its reservation hangs on it."""

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
        "kubernetes.io/hostname",
    )
)
_KUBERNETES = re.compile(r"^([a-z0-9.-]+\.)?(kubernetes|k8s)\.io/")
_KUBELETS = re.compile(r"^([a-z0-9.-]+\.)?(node|kubelet)\.kubernetes\.io/")


@dataclass(frozen=True, kw_only=True)
class Rack:
    """A rack host as a node."""

    node_name: str
    """``<env>-<host>``, also the machine's name."""
    provider_id: str
    place: RackPlace


def api_address(environment: Environment, addresses: AddressPlan) -> IPv4Address:
    """Where every node and pod reaches the API servers: their load balancer. By address, because the private zone is
    known in the control plane's own network alone; the serving certificates have it."""
    return addresses.sites[environment.control_plane.site].subnet("api")[FRONTEND]


def api_url(environment: Environment, addresses: AddressPlan) -> str:
    """The same as a URL."""
    return f"https://{api_address(environment, addresses)}:{environment.control_plane.api.port}"


def pod_mtu(environment: Environment) -> int:
    """Largest packet of a pod, bytes. One number for the environment, so that two pods agree wherever they are."""
    tunnels = any(link.kind is not LinkKind.BACKBONE for link in links(environment))
    return TUNNEL_MTU if tunnels else ETHERNET_MTU


def pool_labels(environment: Environment, pool_name: str, *, group: str | None = None) -> dict[str, str]:
    """Labels of a pool's nodes but the zone, which each machine knows itself. ``group`` is their scale set, if any."""
    pool = environment.pools[pool_name]
    site = environment.sites[pool.site]
    if not cloud_of(site).rents:
        raise TypeError(f"pool {pool_name} is on {site.kind}, not in a cloud")
    return {
        REGION_LABEL: site.region,
        SITE_LABEL: pool.site,
        POOL_LABEL: pool_name,
        **({GROUP_LABEL: group} if group else {}),
        TYPE_LABEL: pool.machine_type,
        **gpu_labels(environment.machine_type(pool.machine_type).gpus),
        **pool.labels,
    }


def rack_labels(place: RackPlace, *, gpus: int = 0) -> dict[str, str]:
    """Labels of a rack host but the zone, which its place gives."""
    return {
        REGION_LABEL: place.site,
        SITE_LABEL: place.site,
        POOL_LABEL: BARE_METAL_POOL,
        TYPE_LABEL: BARE_METAL_POOL,
        **gpu_labels(gpus),
    }


def gpu_labels(gpus: int) -> dict[str, str]:
    """What marks a node with so many GPUs."""
    return {GPU_LABEL: "true"} if gpus else {}


def gpu_taints(gpus: int) -> tuple[Taint, ...]:
    """What keeps work from a node with so many GPUs until they are known to be well."""
    return (Taint(key=PREFLIGHT_TAINT, value="pending", effect="NoSchedule"),) if gpus else ()


def rack_node_name(environment: Environment, host_name: str) -> str:
    """Name of a rack host's machine and node."""
    return f"{environment.name}-{host_name}"


def racks(environment: Environment, addresses: AddressPlan) -> dict[str, Rack]:
    """Every rack host by its name in the hosts file."""
    return {
        place.name: Rack(
            node_name=rack_node_name(environment, place.name),
            provider_id=f"longhaul://{environment.name}/{place.site}/{place.name}",
            place=place,
        )
        for place in rack_places(environment, addresses)
    }


def pool_taints(environment: Environment, pool_name: str) -> tuple[Taint, ...]:
    """Taints that a pool's nodes are born with; racks' hosts have none."""
    return () if pool_name == BARE_METAL_POOL else environment.pools[pool_name].taints


def kube_reserved(vcpus: int) -> dict[str, str]:
    """What a node keeps for kubelet and containerd, in Kubernetes' units: of the cores 6 % of the first, 1 % of the
    second, 0.5 % of the next two and 0.25 % of the rest; memory by the number of pods. Numbers: awslabs/amazon-eks-ami,
    nodeadm, ``kubelet/config.go``; the cores' shares are GKE's."""
    shares = [60.0, 10.0, 5.0, 5.0] + [2.5] * max(vcpus - 4, 0)
    return {
        "cpu": f"{round(sum(shares[:vcpus]))}m",
        "memory": f"{255 + 11 * MAX_PODS}Mi",
        "ephemeral-storage": "1Gi",
    }


def label_fault(key: str) -> str | None:
    """Why a pool cannot have a label of this key; None when it can. A kubelet refuses to start with a Kubernetes label
    that it may not set (k8s.io/kubelet, ``apis.IsKubeletLabel``)."""
    if key in _OWN_LABELS:
        return "is set by Longhaul"
    if _KUBERNETES.match(key) and not _KUBELETS.match(key):
        return "is a label of Kubernetes' own that a node may not give itself"
    return None
