"""Users and groups of the cluster, and signers of nodes' certificates."""

from __future__ import annotations

NODES_GROUP = "system:nodes"
"""Group of every kubelet, and of kube-proxy, which uses the kubelet's certificate. The Node authorizer decides on
requests of kubelets."""
NODE_USER = "system:node:"
"""Prefix of a node's user name (kubernetes.io, "Using Node Authorization")."""

BOOTSTRAPPERS = "system:bootstrappers:longhaul"
"""Group of clients that present a host's one-time token."""
AUTOSCALER_ACCOUNT, NODE_CONTROLLER_ACCOUNT, ACCOUNTANT_ACCOUNT = "autoscaler", "node-controller", "accountant"
"""Users of the operating system under which the services run, and names of the services' certificates."""
ACCOUNTANT_USER = "longhaul:accountant"
"""User of the accountant, which compares what runs in teams' namespaces with what their queues have admitted."""
JOIN_USER = "longhaul:join"
"""User of the join endpoint. The endpoint verifies a cloud machine's proof, then makes the machine's certificate
request. The node controller decides on the request."""

RESERVED = ("system:", "longhaul:")
"""Prefixes of the names of Kubernetes' own users and of Longhaul's programs. People who sign in through an issuer
cannot have such names."""

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"
"""Signers of kubelets' certificates (kubernetes.io, "Certificates and Certificate Signing Requests")."""
