"""All files of a worker node; those of containerd, the kubelet and kube-proxy are made in the modules with their names.
Settings that are the same on every node are in the image's units:
images/rootfs/etc/systemd/system/longhaul-node.target and the units that it wants.

A cloud machine gets its files from cloud-init, a host from Ansible. They differ in how a machine learns its place: from
its cloud (``node/place.py``), or, on a host, from a file.

Keys of workers are made on the node. A cloud machine gets its first certificate in exchange for a proof of its
identity, so its files contain no secret. A host also has a one-time token (:func:`join_kubeconfig`).
"""

from __future__ import annotations

from dataclasses import dataclass

from clouds.base.pool_section import Taint
from clouds.registry import cloud_of
from components.model import AddressPlan, Environment
from components.model.network.api_address import api_url
from components.model.network.mtu import pod_mtu
from components.model.nodes.gpu_promises import host_promise, pool_promise
from components.model.nodes.host_nodes import HostNode, host_nodes
from components.model.nodes.joining import join_settings
from components.model.nodes.kubelet_reservations import HOST_VCPUS
from components.model.nodes.labels import host_labels, pool_labels
from components.model.nodes.rdma import huge_pages_2mib
from components.model.nodes.taints import gpu_taints, pool_taints
from components.render.containerd import depot_files
from components.render.documents import HEADER, yaml_document
from components.render.file import File
from components.render.kube_proxy import configuration
from components.render.kubelet import AUTHORITY, kubelet_configuration
from components.render.node_dns import node_dns_files
from components.render.node_filter import PATH as FILTER
from components.render.node_filter import filter_file
from contract.documents import node_place
from contract.documents.join_kubeconfig import JoinKubeconfig
from contract.documents.node import PATH as NODE
from contract.documents.node import GpuPromise, HugePages, Worker
from contract.documents.node_place import NodePlace
from contract.paths import KUBELET_KUBECONFIG

FOLDER = "/etc/longhaul"
COMPLETE = f"{FOLDER}/complete"
"""Marker that all other files exist; longhaul-node.path waits for it on a cloud machine."""


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
        taints=(*pool_taints(environment, pool_name), *pool.startup_taints),
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
    kubelet = kubelet_configuration(
        addresses,
        site_name,
        vcpus=hardware.vcpus,
        has_gpus=bool(hardware.gpus.gpus),
        taints=(*taints, *gpu_taints(hardware.gpus.gpus)),
    )
    proxy = configuration(addresses.supernet, kubeconfig=KUBELET_KUBECONFIG)
    files = {
        str(NODE): File(content=node.to_text()),
        f"{FOLDER}/kubelet.yaml": File(content=HEADER + yaml_document(kubelet), mode=0o600),
        f"{FOLDER}/kube-proxy.yaml": File(content=HEADER + yaml_document(proxy), mode=0o600),
        FILTER: filter_file(environment, addresses, site_name),
        **node_dns_files(environment, addresses, site_name),
    }
    return files | depot_files(environment, site)


def _place(node: HostNode) -> NodePlace:
    """Return the host's place in the form of a cloud's metadata service."""
    return NodePlace(
        name=node.node_name,
        address=node.place.address,
        provider_id=node.provider_id,
        zone=node.place.site,
        pods=(node.place.pods,),
    )
