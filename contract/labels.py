"""Labels of Nodes, pods, namespaces and other objects, by their keys.

Keys with ``longhaul.dev/`` are Longhaul's. All other keys belong to Kubernetes or NVIDIA.
"""

from __future__ import annotations

from contract.project import PROJECT

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGER = PROJECT
"""Value of the managed-by label on every object of Longhaul."""

# Of a Node: where it is, and what it is.
REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"
HOSTNAME_LABEL = "kubernetes.io/hostname"
TYPE_LABEL = "node.kubernetes.io/instance-type"
SITE_LABEL = "longhaul.dev/site"
POOL_LABEL = "longhaul.dev/pool"
HOSTS_POOL_LABEL = "bare-metal"
"""Value of the pool's label on every host's Node."""
GROUP_LABEL = "longhaul.dev/group"
"""Label with the scale set of an Azure machine. InfiniBand connects only machines of one scale set, and a pool may have
several."""
KIND_LABEL = "longhaul.dev/kind"
"""Label of every Node: its kind of capacity."""
RDMA_LABEL = "longhaul.dev/rdma"
"""Label with the RDMA network of a host. Nodes of pools have no such label, because the pool's label selects them, and
all machines of a pool have the same network."""
UNCHECKED = "longhaul.dev/unchecked"
"""Key of the label and the taint with which a Node registers. The node controller removes both once the Node's labels
agree with the cloud's list of the site's machines and with the environment's file."""

# Of a Node: what only its machine knows.
IMAGE_LABEL = "longhaul.dev/image"
"""Label with the version of a machine's image; each machine sets its own."""
INTERRUPTED = "longhaul.dev/interrupted"
"""Key of the label with which a node reports that its cloud takes it back, and of the taint that the node controller
then adds. Pods that tolerate the taint stay until the machine ends."""
MACHINE_LABELS = (
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "node.kubernetes.io/windows-build",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
)
"""Labels of a machine's operating system. The machine may add these labels if they are missing."""

# Of a Node: its GPUs.
NVIDIA = "nvidia.com/"
"""Prefix of NVIDIA's labels and of its device plugin's resources."""
GPU_LABEL = "nvidia.com/gpu.present"
"""Label that is ``true`` on every node with promised GPUs, from its registration on. NVIDIA's own objects
(github.com/NVIDIA/k8s-device-plugin, ``deployments/static``) and the node controller select nodes by this label."""
CUDA_LABELS = "nvidia.com/cuda"
"""Prefix of the labels with the versions of driver and CUDA, written by NVIDIA's discovery and the node's own check
(docs/gpus.md)."""
DRIVER_LABEL = f"{CUDA_LABELS}.driver-version.major"
"""Label with the running driver's branch."""

# Of pods and namespaces.
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""Label of every namespace: its name."""
TEAM_LABEL = "longhaul.dev/team"
"""Label of a team's namespace. The webhooks of Kueue and JobSet apply only to namespaces with this label, and Kueue and
JobSet may write only there."""
HOST_NETWORK_LABEL = "longhaul.dev/host-network"
"""Label, ``allowed``, of a namespace whose pods may use the host's network."""
OUTLIVE_LABEL = "longhaul.dev/outlive-network-cuts"
"""Label with which a pod waits longer for a node that does not answer (``true``), or does not wait (``false``)."""

# Of other objects.
HOST_LABEL = "longhaul.dev/node"
"""Label of a host's bootstrap token: the host's name."""
