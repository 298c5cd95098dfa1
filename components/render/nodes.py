"""Files of a worker node: containerd, kubelet and kube-proxy. What is the same on every one is in the image's units,
images/rootfs/etc/systemd/system/longhaul-node.target and what it wants.

A cloud machine gets its map by cloud-init, a rack host by Ansible; the two differ in how a machine learns where it
stands: a cloud's tells it (``node_place.py``), a rack host's map has its place in it.

Keys of workers are born on the node. A cloud's machine gets its first certificate for a proof of what it is, so its map
holds no secret; a rack host has a token for one use besides (:func:`join_kubeconfig`).
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from clouds.base.pool import Taint
from clouds.registry import cloud_of
from components.model import AddressPlan, Environment
from components.model.gpus import GpuPromise, host_promise, pool_promise
from components.model.joining import join_settings
from components.model.nodes import (
    MAX_PODS,
    RACK_VCPUS,
    Rack,
    api_url,
    gpu_taints,
    kube_reserved,
    pod_mtu,
    pool_labels,
    pool_taints,
    rack_labels,
    racks,
)
from components.model.sites import Site
from components.render.documents import HEADER, json_document, yaml_document
from components.render.file import File

FOLDER = "/etc/longhaul"
JOIN = f"{FOLDER}/join.kubeconfig"
"""What a rack host's kubelet asks for its first certificate with."""
AUTHORITY = f"{FOLDER}/pki/kubernetes-ca.crt"
COMPLETE = f"{FOLDER}/complete"
"""Whether all other files are there: what longhaul-node.path waits for on a cloud machine."""

ROLE = "node"
"""What ``node.json`` says a worker is."""

CLUSTER_DOMAIN = "cluster.local"
KUBELET_KUBECONFIG = "/var/lib/kubelet/kubeconfig"
"""The kubelet writes it once it has its certificate; kube-proxy is the same machine and uses it too."""


@dataclass(frozen=True, kw_only=True)
class _Hardware:
    """What a node's settings hang on."""

    vcpus: int
    gpus: GpuPromise
    huge_pages_gib: int


def pool_files(
    environment: Environment, addresses: AddressPlan, pool_name: str, *, kubernetes_ca: str, group: str | None = None
) -> dict[str, File]:
    """Every file of a pool's machines by path, sorted. ``kubernetes_ca`` is PEM; ``group`` their scale set, if any."""
    pool = environment.pools[pool_name]
    machine = environment.machine_type(pool.machine_type)
    found = _shared(
        environment,
        addresses,
        site_name=pool.site,
        labels=pool_labels(environment, pool_name, group=group),
        hardware=_Hardware(
            vcpus=machine.vcpus, gpus=pool_promise(environment, pool_name), huge_pages_gib=pool.huge_pages_gib
        ),
        taints=pool_taints(environment, pool_name),
    )
    found[AUTHORITY] = File(content=kubernetes_ca, mode=0o444)
    return dict(sorted(found.items()))


def rack_files(
    environment: Environment, addresses: AddressPlan, host_name: str, *, kubernetes_ca: str
) -> dict[str, File]:
    """Every file of a rack host by path, sorted; its one-time :func:`join_kubeconfig` is not among them. ``KeyError``
    for a host that the hosts file does not list."""
    rack = racks(environment, addresses)[host_name]
    host = next(host for host in environment.hosts if host.name == host_name)
    found = _shared(
        environment,
        addresses,
        site_name=rack.place.site,
        labels=rack_labels(rack.place, gpus=host.gpus),
        hardware=_Hardware(vcpus=RACK_VCPUS, gpus=host_promise(host), huge_pages_gib=host.huge_pages_gib),
    )
    found[AUTHORITY] = File(content=kubernetes_ca, mode=0o444)
    found[f"{FOLDER}/place.json"] = File(content=json_document(_place(rack)))
    return dict(sorted(found.items()))


def join_kubeconfig(environment: Environment, addresses: AddressPlan, *, token: str) -> File:
    """What a rack host joins with, for :data:`JOIN`: JSON, which is YAML too, since the node's own programs read it.
    The authority is beside it, by path: so it is renewed in one place."""
    name = environment.name
    cluster = {"server": api_url(environment, addresses), "certificate-authority": AUTHORITY}
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": "join", "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "join"}}],
        "current-context": name,
    }
    return File(content=json_document(value), mode=0o600, secret=True)


def _shared(
    environment: Environment,
    addresses: AddressPlan,
    *,
    site_name: str,
    labels: dict[str, str],
    hardware: _Hardware,
    taints: tuple[Taint, ...] = (),
) -> dict[str, File]:
    site = environment.sites[site_name]
    node = {
        "role": ROLE,
        "kind": site.kind,
        "version": environment.versions.kubernetes,
        "api": api_url(environment, addresses),
        "labels": labels,
        "supernet": str(addresses.supernet),
        "pod_mtu": pod_mtu(environment),
        **_promise(hardware.gpus),
        "huge_pages_gib": hardware.huge_pages_gib,
        **({"join": join_settings(environment, addresses)} if cloud_of(site).rents else {}),
    }
    kubelet = _kubelet(addresses, hardware=hardware, taints=(*taints, *gpu_taints(hardware.gpus.gpus)))
    found = {
        f"{FOLDER}/node.json": File(content=json_document(node)),
        f"{FOLDER}/kubelet.yaml": File(content=HEADER + yaml_document(kubelet)),
        f"{FOLDER}/kube-proxy.yaml": File(content=HEADER + yaml_document(_kube_proxy(addresses.supernet))),
    }
    return found | _registry(site)


def _promise(gpus: GpuPromise) -> dict[str, Any]:
    """What the machine's test of its GPUs goes by; what is not promised is left out."""
    said = {"gpu_model": gpus.model or None, "gpu_nvlinks": gpus.nvlinks, "gpu_check": list(gpus.check) or None}
    return {"gpus": gpus.gpus, **{key: value for key, value in said.items() if value is not None}}


def _place(rack: Rack) -> dict[str, str]:
    """As a cloud's metadata service would tell it."""
    return {
        "name": rack.node_name,
        "address": str(rack.place.address),
        "provider_id": rack.provider_id,
        "zone": rack.place.site,
        "pods": str(rack.place.pods),
    }


def _kubelet(addresses: AddressPlan, *, hardware: _Hardware, taints: tuple[Taint, ...]) -> dict[str, Any]:
    """KubeletConfiguration. What a machine learns at boot (provider id, resolver) is merged into it from
    /etc/longhaul/kubelet.conf.d. docs/performance.md has the sources of what is set for speed."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": AUTHORITY},
        },
        "authorization": {"mode": "Webhook"},
        "rotateCertificates": True,
        "serverTLSBootstrap": True,
        "tlsMinVersion": "VersionTLS12",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "systemd",
        "clusterDNS": [str(addresses.dns_service)],
        "clusterDomain": CLUSTER_DOMAIN,
        "maxPods": MAX_PODS,
        # One image of 17 GB must not hold up all others.
        "serializeImagePulls": False,
        "maxParallelImagePulls": 10,
        "kubeReserved": kube_reserved(hardware.vcpus),
        "systemReserved": {"memory": "256Mi"},
        "enableProfilingHandler": False,
        **(_near_the_gpus() if hardware.gpus.gpus else {}),
        **({"registerWithTaints": [taint.model_dump() for taint in taints]} if taints else {}),
    }


def _near_the_gpus() -> dict[str, Any]:
    """Processors on the same NUMA node as the GPUs that a pod is given, and nobody else's.

    ``best-effort``, because the stricter policies fail a pod that does not fit the free NUMA nodes once it is bound,
    and the scheduler, which knows none, would bind the next one there too (kubernetes.io, "Control Topology Management
    Policies on a node", known limitations). Neither ``reservedSystemCPUs`` nor the memory manager: both want numbers
    that only the machine knows (which processors, how many NUMA nodes; k8s.io/kubernetes,
    pkg/kubelet/cm/memorymanager, validateReservedMemory), and memory is taken near the processor that first touches it.
    """
    return {
        "cpuManagerPolicy": "static",
        # A pod with all GPUs and some processors gets as many of either socket.
        "cpuManagerPolicyOptions": {"distribute-cpus-across-numa": "true"},
        "topologyManagerPolicy": "best-effort",
        "topologyManagerScope": "pod",
    }


def _kube_proxy(supernet: IPv4Network) -> dict[str, Any]:
    """KubeProxyConfiguration. Whatever comes from the supernet is the cluster's own and keeps its address."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": KUBELET_KUBECONFIG},
        "clusterCIDR": str(supernet),
        "detectLocalMode": "ClusterCIDR",
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        # The limit is node_performance.py's, by memory.
        "conntrack": {"maxPerCore": 0},
    }


def _registry(site: Site) -> dict[str, File]:
    """Where containerd pulls from when the site has a depot: every image, and nothing past it. containerd names the
    registry that is meant in the query (docs/hosts.md of containerd)."""
    if site.depot is None:
        return {}
    content = f'server = "{site.depot}"\n\n[host."{site.depot}"]\ncapabilities = ["pull", "resolve"]\n'
    return {"/etc/containerd/certs.d/_default/hosts.toml": File(content=HEADER + content)}
