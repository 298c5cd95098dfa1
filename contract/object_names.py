"""Names of namespaces, objects and classes in the cluster, and its DNS zone."""

from __future__ import annotations

SYSTEM_NAMESPACE = "kube-system"
"""Namespace of Kubernetes' own pods and of our objects, except for permissions in other namespaces."""
SYSTEM_CONFIGMAPS = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/configmaps"
CLUSTER_DOMAIN = "cluster.local"
"""DNS zone of the cluster's own Services and pods."""

AUTHORITIES_CONFIGMAP, AUTHORITIES_KEY = "kube-root-ca.crt", "ca.crt"
"""ConfigMap, and its key, in which kube-controller-manager publishes the API servers' authorities for nodes and
pods."""

COREDNS = "coredns"
"""The add-on that resolves all names on the cluster."""

NODE_CONTROLLER_LEASE = "longhaul-node-controller"
"""Lease of the leading node controller, and component of its Events."""
LOOKED_AT, LOOKED_AT_KEY, LOOKED_AT_YES = "longhaul-node-labels", "looked-at", "true"
"""ConfigMap, its key and value, with which the node controller announces that it checks new Nodes. From then on, the
API servers mark new Nodes as unchecked."""

AUTOSCALER, MEMORY_KEY = "longhaul-autoscaler", "memory"
"""Lease of the leading autoscaler. Its memory is a ConfigMap of the same name, under that key."""
ENVIRONMENT_KEY = "environment.json"
"""Key of the environment's document in the ConfigMaps of node controller and autoscaler."""
CAPACITY_CONFIGMAP, CAPACITY_KEY = "longhaul-capacity", "pools"
"""ConfigMap, and its key, with the declared pools, for people without the environment file."""

GANGS = "gangs.longhaul.dev"
"""Class of the ProvisioningRequests that Longhaul's autoscaler serves (docs/autoscaler.md)."""

NODE_PROOF_REFUSED = "NodeProofRefused"
"""Reason of the join endpoint's Event about a machine that did not prove its identity. An Event is kept for an hour."""
NODE_REQUEST_DENIED = "NodeRequestDenied"
"""Reason of the node controller's Event about a certificate request that it denied."""
