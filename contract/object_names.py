"""Names of namespaces, objects and classes in the cluster, and the cluster's DNS zone."""

from __future__ import annotations

SYSTEM_NAMESPACE = "kube-system"
"""Namespace of Kubernetes' own pods and of Longhaul's objects, except for permissions in other namespaces."""
SYSTEM_CONFIGMAPS = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/configmaps"
CLUSTER_DOMAIN = "cluster.local"
"""DNS zone of the cluster's own Services and pods."""

AUTHORITIES_CONFIGMAP, AUTHORITIES_KEY = "kube-root-ca.crt", "ca.crt"
"""Name and key of the ConfigMap in which kube-controller-manager publishes the API servers' authorities for nodes and
pods."""

COREDNS = "coredns"
"""The add-on that resolves all names on the cluster."""

NODE_CONTROLLER_LEASE = "longhaul-node-controller"
"""Name of the leading node controller's Lease, and component of the node controller's Events."""
ACCOUNTANT_LEASE = "longhaul-accountant"
"""Name of the leading accountant's Lease, and component of the accountant's Events."""
LOOKED_AT, LOOKED_AT_KEY, LOOKED_AT_YES = "longhaul-node-labels", "looked-at", "true"
"""Name, key and value of the ConfigMap by which the node controller announces that it checks new Nodes. From then on,
the API servers mark new Nodes as unchecked."""

AUTOSCALER, MEMORY_KEY = "longhaul-autoscaler", "memory"
"""Name of the leading autoscaler's Lease and of the ConfigMap with the autoscaler's memory, and the memory's key in the
ConfigMap."""
ENVIRONMENT_KEY = "environment.json"
"""Key of the environment's document in the ConfigMaps of the node controller and the autoscaler."""
CAPACITY_CONFIGMAP, CAPACITY_KEY = "longhaul-capacity", "pools"
"""Name and key of the ConfigMap with the declared pools, for people without the environment file."""

GANGS = "gangs.longhaul.dev"
"""Class of the ProvisioningRequests that Longhaul's autoscaler serves (docs/autoscaler.md)."""

NODE_PROOF_REFUSED = "NodeProofRefused"
"""Reason of the join endpoint's Event about a machine that did not prove its identity. An Event is kept for an hour."""
NODE_REQUEST_DENIED = "NodeRequestDenied"
"""Reason of the node controller's Event about a certificate request that it denied."""
