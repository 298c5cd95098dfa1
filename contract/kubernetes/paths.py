"""Paths of the API that several programs use."""

from __future__ import annotations

NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"
PODS = "/api/v1/pods"
CLAIMS = "/api/v1/persistentvolumeclaims"
STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
"""Path of the leases that kubelets renew."""
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
"""Path at which a client asks whether it may make a request."""
