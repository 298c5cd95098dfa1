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
"""Label with the RDMA network of a host. Nodes of pools do not have this label: all machines of a pool have the same
kind of RDMA network, and the pool label selects them."""
UNCHECKED = "longhaul.dev/unchecked"
"""Key of the label and the taint with which a Node registers. The node controller corrects the Node's labels by the
cloud's list of the site's machines, or a host's by the environment's file, and then removes both."""

# Of a Node: what only its machine knows.
IMAGE_LABEL = "longhaul.dev/image"
"""Label with the version of a machine's image; each machine sets its own."""
INTERRUPTED = "longhaul.dev/interrupted"
"""Key of a label and a taint. A node sets the label when its cloud reclaims the machine, and the node controller then
adds the taint. Pods that tolerate the taint stay until the machine ends."""
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
"""Label that is ``true`` on every node that must have GPUs according to the environment. It is set from the node's
registration on. NVIDIA's own objects (github.com/NVIDIA/k8s-device-plugin, ``deployments/static``) and the node
controller select nodes by this label."""
CUDA_LABELS = "nvidia.com/cuda"
"""Prefix of the labels that contain the versions of the driver and of CUDA. NVIDIA's discovery and the node's own check
write these labels (docs/gpus.md)."""
DRIVER_LABEL = f"{CUDA_LABELS}.driver-version.major"
"""Label with the running driver's branch."""

# Of pods and namespaces.
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""Label of every namespace: its name."""
TEAM_LABEL = "longhaul.dev/team"
"""Label of a team's namespace. The webhooks of Kueue and JobSet apply only to namespaces with this label, and Kueue and
JobSet may write only there."""
HELD_LABEL = "longhaul.dev/held"
"""Label, ``true``, of a team's namespace in which more runs than the team's queue has admitted. While the accountant
keeps the label, API servers refuse new pods in the namespace, and new places for its pods."""
HOST_NETWORK_LABEL = "longhaul.dev/host-network"
"""Label of a namespace. The value ``allowed`` permits its pods to use the host's network."""
OUTLIVE_LABEL = "longhaul.dev/outlive-network-cuts"
"""Label of a pod. With ``true``, the pod stays longer on a node that does not answer. With ``false``, it stays no
longer than the default toleration of 300 seconds."""

# Of other objects.
HOST_LABEL = "longhaul.dev/node"
"""Label of a host's bootstrap token: the host's name."""
