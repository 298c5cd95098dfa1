"""Ports on which machines' programs answer, and paths of programs that answer HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ETCD_CLIENT_PORT = 2379
ETCD_PEER_PORT = 2380
SSH_PORT = 22
DNS_STUB_PORT = 53
"""Port of systemd-resolved, on loopback (resolved.conf(5), ``DNSStubListener``)."""
CONTROLLER_MANAGER_PORT, SCHEDULER_PORT = 10257, 10259
"""Ports of kube-controller-manager and kube-scheduler, on loopback (k8s.io/kubernetes, ``pkg/cluster/ports``)."""
NODE_SIGNER_PORT = 10262
"""Port of the signer of nodes' certificates, on loopback."""
NODE_CONTROLLER_PORT = 10261
"""Port of the node controller's health and metrics, on loopback."""
AUTOSCALER_PORT = 10268
"""Port of the autoscaler's health and metrics, on loopback."""
ACCOUNTANT_PORT = 10269
"""Port of the accountant's health and metrics, on loopback."""
KUBE_PROXY_HEALTH_PORT = 10256
"""Port of kube-proxy's health check, on loopback."""
KUEUE_PORT, KUEUE_HEALTH_PORT, KUEUE_METRICS_PORT = 10263, 10264, 10265
"""Ports of Kueue's webhooks, of its health check, and of its metrics, on loopback."""
JOBSET_PORT, JOBSET_HEALTH_PORT = 10266, 10267
"""Ports of JobSet's webhooks and of its health check, on loopback."""

JOIN_PORT = 6444
"""Port of the join endpoint, on the load balancer and on the machines. The API must have another port."""
JOIN_HEALTH_PATH = "/healthz"
"""Path that the load balancer requests to check the join endpoint."""

API_SERVER_PORTS: Mapping[int, str] = MappingProxyType(
    {
        SSH_PORT: "sshd",
        DNS_STUB_PORT: "systemd-resolved",
        JOIN_PORT: "the join service",
        CONTROLLER_MANAGER_PORT: "kube-controller-manager",
        SCHEDULER_PORT: "kube-scheduler",
        NODE_CONTROLLER_PORT: "the node controller",
        NODE_SIGNER_PORT: "the signer of nodes' certificates",
        KUEUE_PORT: "Kueue",
        KUEUE_HEALTH_PORT: "Kueue",
        KUEUE_METRICS_PORT: "Kueue",
        JOBSET_PORT: "JobSet",
        JOBSET_HEALTH_PORT: "JobSet",
        AUTOSCALER_PORT: "the autoscaler",
        ACCOUNTANT_PORT: "the accountant",
    }
)
"""Ports that programs on API servers' machines have. kube-apiserver, which binds every address, must have another."""

VPN_CERTIFICATE_PATH = "/v1/certificate"
"""Path at which a VPN machine's sign-in endpoint issues laptops' certificates."""
