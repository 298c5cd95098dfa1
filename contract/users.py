"""Users and groups of the cluster, and signers of nodes' certificates."""

from __future__ import annotations

NODES_GROUP = "system:nodes"
"""Group of every kubelet. The Node authorizer decides on the kubelets' own requests; kube-proxy uses their
certificate."""
NODE_USER = "system:node:"
"""Prefix of a node's user name (kubernetes.io, "Using Node Authorization")."""

BOOTSTRAPPERS = "system:bootstrappers:longhaul"
"""Group of whoever presents a host's one-time token."""
AUTOSCALER_ACCOUNT, NODE_CONTROLLER_ACCOUNT = "autoscaler", "node-controller"
"""Users of the system that the services have on a machine, and names of their certificates."""
JOIN_USER = "longhaul:join"
"""User of the join endpoint, which makes the requests of cloud machines once it has verified each machine's proof. The
node controller decides on them."""

RESERVED = ("system:", "longhaul:")
"""Prefixes of the names of Kubernetes' own users and of Longhaul's programs. People from an issuer cannot have such
names."""

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"
"""Signers of kubelets' certificates (kubernetes.io, "Certificates and Certificate Signing Requests")."""
