"""The kubelet's reservations and limits: pods of a node, resources that no pod gets, processes of a pod."""

from __future__ import annotations

from contract.documents.node_place import POD_PREFIX

POD_ADDRESSES = 2 ** (32 - POD_PREFIX)
"""Number of addresses for pods on one node, in every cloud and rack."""

SYSTEM_MIB = 256
"""Memory that a kubelet reserves for the system, MiB (``systemReserved``)."""

EVICTION_MIB = 100
"""Memory below which a kubelet evicts pods, so that no pod gets it, MiB (``evictionHard`` in
images/rootfs/etc/longhaul/kubelet.conf.d/05-disk.conf)."""

EVICTION_DISK_GIB = 5
"""Free space of the disk below which a kubelet evicts pods, GiB (same place)."""

DISK_GIB = 1
"""Space of the disk that a kubelet reserves for itself and the container runtime, GiB (``kubeReserved``)."""

SYSTEM_PIDS = 4_096
"""Number of processes that a kubelet reserves for the system (``systemReserved``)."""

MAX_PODS = POD_ADDRESSES
"""Largest number of pods on one node. Every address of the range is for a pod: `host-local` gets the range's first and
last address as its bounds, so it keeps none for network and broadcast, and the pods' gateway is the node's own address.
The kubelet also counts pods in the host's network, so a node never has more pods than addresses. To change it, change
``POD_PREFIX`` of the address plan."""

HOST_VCPUS = 64
"""Number of cores assumed for every host; only its reserved resources and the process limit of a pod depend on it."""

PIDS_PER_CPU = 1_024
LEAST_PIDS = 4_096
"""Number of processes that a pod may have on the smallest machines: the default of OpenShift's nodes."""


def kube_reserved(vcpus: int) -> dict[str, str]:
    """Return the resources reserved for kubelet and containerd, in Kubernetes' units. CPU: 6 % of the first core, 1 %
    of the second, 0.5 % of the next two and 0.25 % of the rest. Memory: by the number of pods. The numbers are from
    awslabs/amazon-eks-ami, nodeadm, ``kubelet/config.go``; the shares of cores are GKE's."""
    shares = [60.0, 10.0, 5.0, 5.0] + [2.5] * max(vcpus - 4, 0)
    return {
        "cpu": f"{round(sum(shares[:vcpus]))}m",
        "memory": f"{255 + 11 * MAX_PODS}Mi",
        "ephemeral-storage": f"{DISK_GIB}Gi",
    }


def pod_pids(vcpus: int) -> int:
    """Return the largest number of processes and threads of one pod: as many for each core as the kernel assumes
    (linux, include/linux/threads.h, ``PIDS_PER_CPU_DEFAULT``), so that a pod with a whole machine of eight GPUs has
    room for its data loaders' threads."""
    return max(LEAST_PIDS, PIDS_PER_CPU * vcpus)
