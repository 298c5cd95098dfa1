"""Users and groups of the cluster, and signers of nodes' certificates."""

from __future__ import annotations

NODES_GROUP = "system:nodes"
"""Group of every kubelet. The Node authorizer decides on the kubelets' own requests; kube-proxy uses their
certificate."""
NODE_USER = "system:node:"
"""Beginning of a node's user (kubernetes.io, "Using Node Authorization")."""

BOOTSTRAPPERS = "system:bootstrappers:longhaul"
"""Group that a host's one-time token gives its bearer."""
JOIN_USER = "longhaul:join"
"""User of the join endpoint, which makes the requests of cloud machines once it has verified each machine's proof. The
node controller decides on them."""

RESERVED = ("system:", "longhaul:")
"""Beginnings of the names of Kubernetes' own users and of Longhaul's programs. No issuer's people have such names."""

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"
"""Signers of kubelets' certificates (kubernetes.io, "Certificates and Certificate Signing Requests")."""
NODE_CERTIFICATE_DAYS = 30
"""Longest life of a node's certificate, as kube-node-signer.service says it. It cannot be revoked, so it is short: a
stolen one is of use for at most this long, with Kubernetes' default for a year. Kubelets renew at 70 to 90 %
(client-go, ``jitteryDuration``), so a node that is cut off has three days or more; after that a cloud's node joins
again by itself, a host with the next `longhaul up`."""
