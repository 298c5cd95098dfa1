"""Files of a worker node: containerd, kubelet and kube-proxy. Settings that are the same on every node are in the
image's units: images/rootfs/etc/systemd/system/longhaul-node.target and the units that it wants.

A cloud machine gets its files from cloud-init, a host from Ansible. They differ in how a machine learns its place: from
its cloud (``node/place.py``), or, on a host, from a file.

Keys of workers are made on the node. A cloud machine gets its first certificate in exchange for a proof of its
identity, so its files contain no secret. A host also has a one-time token (:func:`join_kubeconfig`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clouds.base.pool import Taint
from clouds.registry import cloud_of
from components.model import AddressPlan, Environment
from components.model.network.api_address import api_url
from components.model.network.packet_size import pod_mtu
from components.model.nodes.gpu_promises import host_promise, pool_promise
from components.model.nodes.host_nodes import HostNode, host_nodes
from components.model.nodes.joining import join_settings
from components.model.nodes.kubelet_reservations import HOST_VCPUS, MAX_PODS, SYSTEM_MIB, kube_reserved, pod_pids
from components.model.nodes.labels import gpu_taints, host_labels, pool_labels, pool_taints
from components.model.nodes.rdma import huge_pages_2mib
from components.model.sites.section import Site
from components.render.documents import HEADER, yaml_document
from components.render.file import File
from components.render.kube_proxy import configuration
from components.render.node_filter import PATH as FILTER
from components.render.node_filter import filter_file
from contract.documents import node_place
from contract.documents.depot import PATH as DEPOT_PATH
from contract.documents.depot import SignedDepot
from contract.documents.join_kubeconfig import JoinKubeconfig
from contract.documents.node import PATH as NODE
from contract.documents.node import GpuPromise, HugePages, Worker
from contract.documents.node_place import NodePlace
from contract.objects import CLUSTER_DOMAIN
from contract.paths import KUBELET_KUBECONFIG

FOLDER = "/etc/longhaul"
AUTHORITY = f"{FOLDER}/pki/kubernetes-ca.crt"
DEPOT_AUTHORITY = f"{FOLDER}/depot-authority.pem"
"""Certificates of the authorities that sign for the depot's server. The role depot_authority writes the same file."""
COMPLETE = f"{FOLDER}/complete"
"""Marker that all other files exist; longhaul-node.path waits for it on a cloud machine."""

TLS_CIPHER_SUITES = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
)
"""Cipher suites of TLS 1.2 with authenticated encryption, for the type of our keys. All suites of TLS 1.3 are of this
sort, and cannot be chosen (Go, crypto/tls, ``Config.CipherSuites``). The units of the API servers list the same."""


@dataclass(frozen=True, kw_only=True)
class _Hardware:
    """Hardware that a node's settings depend on."""

    vcpus: int
    gpus: GpuPromise
    huge_pages: HugePages


def pool_files(
    environment: Environment, addresses: AddressPlan, pool_name: str, *, kubernetes_ca: str, group: str | None = None
) -> dict[str, File]:
    """Return every file of a pool's machines by path, sorted. ``kubernetes_ca`` is PEM; ``group`` is their scale set,
    if any."""
    pool = environment.pools[pool_name]
    machine = environment.machine_type(pool.machine_type)
    files = _shared(
        environment,
        addresses,
        site_name=pool.site,
        labels=pool_labels(environment, pool_name, group=group),
        hardware=_Hardware(
            vcpus=machine.vcpus,
            gpus=pool_promise(environment, pool_name),
            huge_pages=HugePages(gib=pool.huge_pages_gib, mib_2=huge_pages_2mib(environment, pool_name)),
        ),
        taints=pool_taints(environment, pool_name),
        deletion_notice=pool.deletion_notice_min is not None,
    )
    files[AUTHORITY] = File(content=kubernetes_ca, mode=0o444)
    return dict(sorted(files.items()))


def host_files(
    environment: Environment, addresses: AddressPlan, host_name: str, *, kubernetes_ca: str
) -> dict[str, File]:
    """Return every file of a host by path, sorted, without its one-time :func:`join_kubeconfig`. Raise ``KeyError`` for
    a host that the hosts file does not list."""
    node = host_nodes(environment, addresses)[host_name]
    host = next(host for host in environment.hosts if host.name == host_name)
    files = _shared(
        environment,
        addresses,
        site_name=node.place.site,
        labels=host_labels(node.place, gpus=host.gpus, gpu_model=host.gpu_model, rdma=host.rdma),
        hardware=_Hardware(vcpus=HOST_VCPUS, gpus=host_promise(host), huge_pages=HugePages(gib=host.huge_pages_gib)),
    )
    files[AUTHORITY] = File(content=kubernetes_ca, mode=0o444)
    files[node_place.PATH] = File(content=node_place.to_text(_place(node)))
    return dict(sorted(files.items()))


def join_kubeconfig(environment: Environment, addresses: AddressPlan, *, token: str) -> File:
    """Return the kubeconfig with which a host joins, for :data:`contract.documents.join_kubeconfig.PATH`."""
    join = JoinKubeconfig(server=api_url(environment, addresses), authority=AUTHORITY, token=token)
    return File(content=join.to_text(environment.name), mode=0o600, secret=True)


def _shared(
    environment: Environment,
    addresses: AddressPlan,
    *,
    site_name: str,
    labels: dict[str, str],
    hardware: _Hardware,
    taints: tuple[Taint, ...] = (),
    deletion_notice: bool = False,
) -> dict[str, File]:
    site = environment.sites[site_name]
    node = Worker(
        kind=site.kind,
        version=environment.versions.kubernetes,
        api=api_url(environment, addresses),
        labels=labels,
        supernet=str(addresses.supernet),
        pod_mtu=pod_mtu(environment),
        gpus=hardware.gpus,
        huge_pages=hardware.huge_pages,
        deletion_notice=deletion_notice,
        join=join_settings(environment, addresses) if cloud_of(site).rents else None,
    )
    kubelet = _kubelet(addresses, hardware=hardware, taints=(*taints, *gpu_taints(hardware.gpus.gpus)))
    proxy = configuration(addresses.supernet, kubeconfig=KUBELET_KUBECONFIG)
    files = {
        str(NODE): File(content=node.to_text()),
        f"{FOLDER}/kubelet.yaml": File(content=HEADER + yaml_document(kubelet), mode=0o600),
        f"{FOLDER}/kube-proxy.yaml": File(content=HEADER + yaml_document(proxy), mode=0o600),
        FILTER: filter_file(environment, addresses, site_name),
    }
    return files | _depot(environment, site)


def _place(node: HostNode) -> NodePlace:
    """Return the host's place in the form of a cloud's metadata service."""
    return NodePlace(
        name=node.node_name,
        address=node.place.address,
        provider_id=node.provider_id,
        zone=node.place.site,
        pods=(node.place.pods,),
    )


def _kubelet(addresses: AddressPlan, *, hardware: _Hardware, taints: tuple[Taint, ...]) -> dict[str, Any]:
    """Return the KubeletConfiguration. Values that a machine learns at boot (provider id, resolver) are merged into it
    from /etc/longhaul/kubelet.conf.d. docs/performance.md has the sources of settings for speed."""
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
        "tlsCipherSuites": list(TLS_CIPHER_SUITES),
        # A pod that wants another profile declares it; `baseline` refuses that.
        "seccompDefault": True,
        "podPidsLimit": pod_pids(hardware.vcpus),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "systemd",
        "clusterDNS": [str(addresses.dns_service)],
        "clusterDomain": CLUSTER_DOMAIN,
        "maxPods": MAX_PODS,
        # One image of 17 GB must not hold up all others.
        "serializeImagePulls": False,
        "maxParallelImagePulls": 10,
        "kubeReserved": kube_reserved(hardware.vcpus),
        # Processes that all pods together leave to the machine, however many pods there are.
        "systemReserved": {"memory": f"{SYSTEM_MIB}Mi", "pid": "4096"},
        "enableProfilingHandler": False,
        **(_near_the_gpus() if hardware.gpus.gpus else {}),
        **({"registerWithTaints": [taint.model_dump() for taint in taints]} if taints else {}),
    }


def _near_the_gpus() -> dict[str, Any]:
    """Return settings that reserve processors for a pod on the same NUMA node as its GPUs.

    The policy is ``best-effort``. The stricter policies fail a pod after binding when it does not fit the free NUMA
    nodes, and the scheduler, which does not know these, would bind the next one there too (kubernetes.io, "Control
    Topology Management Policies on a node", known limitations). ``reservedSystemCPUs`` and the memory manager are not
    used: both need numbers that only the machine knows (which processors, how many NUMA nodes; k8s.io/kubernetes,
    pkg/kubelet/cm/memorymanager, validateReservedMemory), and memory is allocated near the processor that first touches
    it.
    """
    return {
        "cpuManagerPolicy": "static",
        # A pod with all GPUs and some processors gets the same number from each socket.
        "cpuManagerPolicyOptions": {"distribute-cpus-across-numa": "true"},
        "topologyManagerPolicy": "best-effort",
        "topologyManagerScope": "pod",
    }


def _depot(environment: Environment, site: Site) -> dict[str, File]:
    """Return the files by which a machine uses its site's depot: containerd's; its image verifier's
    (containerd/signed_depot.py) if the builder signs; and the authority of the depot's server if the environment names
    one."""
    if site.depot is None:
        return {}
    key, authority = environment.depots.key, environment.depots.authority
    files = {"/etc/containerd/certs.d/_default/hosts.toml": registry(site.depot, own_authority=bool(authority))}
    if key is not None:
        depot = SignedDepot(url=site.depot, key=key, authority=DEPOT_AUTHORITY if authority else None)
        files[DEPOT_PATH] = File(content=depot.to_text())
    if authority:
        files[DEPOT_AUTHORITY] = File(content=authority)
    return files


def registry(depot: str, *, own_authority: bool) -> File:
    """Return containerd's registry configuration: it pulls every image from the depot and never from elsewhere. It
    names the intended registry in the query (docs/hosts.md of containerd). ``ca`` is set for the server and for the
    host, which containerd treats as two entries; it is added to the system's store
    (core/remotes/docker/config/hosts.go)."""
    ca = f'ca = "{DEPOT_AUTHORITY}"\n' if own_authority else ""
    content = f'server = "{depot}"\n{ca}\n[host."{depot}"]\ncapabilities = ["pull", "resolve"]\n{ca}'
    return File(content=HEADER + content)
