"""Ports on which machines' programs answer, and paths of programs that answer HTTP."""

from __future__ import annotations

ETCD_CLIENT_PORT = 2379
ETCD_PEER_PORT = 2380
NODE_CONTROLLER_PORT = 10261
"""Port of the node controller's health and metrics, on loopback."""
AUTOSCALER_PORT = 10268
"""Port of the autoscaler's health and metrics, on loopback."""
ACCOUNTANT_PORT = 10269
"""Port of the accountant's health and metrics, on loopback."""
KUBE_PROXY_HEALTH_PORT = 10256
"""Port of kube-proxy's health check, on loopback."""
KUEUE_PORT, KUEUE_HEALTH_PORT = 10263, 10264
"""Ports of Kueue's webhooks and of its health check, on loopback."""
JOBSET_PORT, JOBSET_HEALTH_PORT = 10266, 10267
"""Ports of JobSet's webhooks and of its health check, on loopback."""

JOIN_PORT = 6444
"""Port of the join endpoint, on the load balancer and on the machines. The API must have another port."""
JOIN_HEALTH_PATH = "/healthz"
"""Path that the load balancer requests to check the join endpoint."""

VPN_CERTIFICATE_PATH = "/v1/certificate"
"""Path at which a VPN machine's sign-in endpoint issues laptops' certificates."""
