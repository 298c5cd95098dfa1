"""The kubelet's settings on a node. Reservations of a machine and limits of a pod are in
components/model/nodes/kubelet_reservations.py."""

from __future__ import annotations

from typing import Any

from clouds.base.pool_section import Taint
from components.model import AddressPlan
from components.model.network.cluster_dns import pod_name_servers
from components.model.nodes.kubelet_reservations import MAX_PODS, SYSTEM_MIB, SYSTEM_PIDS, kube_reserved, pod_pids
from contract.object_names import CLUSTER_DOMAIN

AUTHORITY = "/etc/longhaul/pki/kubernetes-ca.crt"
"""Certificate of the cluster's authority, which signs certificates of the kubelet's clients."""

TLS_CIPHER_SUITES = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
)
"""Cipher suites of TLS 1.2 with authenticated encryption, for the type of our keys. All suites of TLS 1.3 are of this
sort, and cannot be chosen (Go, crypto/tls, ``Config.CipherSuites``). The units of the API servers list the same."""


def kubelet_configuration(
    addresses: AddressPlan, site: str, *, vcpus: int, has_gpus: bool, taints: tuple[Taint, ...]
) -> dict[str, Any]:
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
        # A pod may declare another profile, except `Unconfined`, which `baseline` refuses.
        "seccompDefault": True,
        "podPidsLimit": pod_pids(vcpus),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "systemd",
        "clusterDNS": [str(address) for address in pod_name_servers(addresses, site)],
        "clusterDomain": CLUSTER_DOMAIN,
        "maxPods": MAX_PODS,
        # One image of 17 GB must not hold up all others.
        "serializeImagePulls": False,
        "maxParallelImagePulls": 10,
        "kubeReserved": kube_reserved(vcpus),
        # Processes that all pods together leave to the machine, however many pods there are.
        "systemReserved": {"memory": f"{SYSTEM_MIB}Mi", "pid": str(SYSTEM_PIDS)},
        "enableProfilingHandler": False,
        **(_near_the_gpus() if has_gpus else {}),
        **({"registerWithTaints": [taint.model_dump() for taint in taints]} if taints else {}),
    }


def _near_the_gpus() -> dict[str, Any]:
    """Return settings that reserve processors for a pod on the same NUMA node as its GPUs.

    The policy is ``best-effort``. The stricter policies fail a pod after binding when it does not fit the free NUMA
    nodes, and the scheduler, which does not know NUMA nodes, would bind the next pod there too (kubernetes.io, "Control
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
