"""kube-proxy's configuration, on nodes and on machines of the laptops' VPN."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

from components.model import AddressPlan, Environment
from components.model.network.api_address import api_url
from contract.paths import KUBERNETES_AUTHORITIES, PKI
from contract.ports import KUBE_PROXY_HEALTH_PORT


def configuration(supernet: IPv4Network, *, kubeconfig: str) -> dict[str, Any]:
    """Return the KubeProxyConfiguration. Packets from the supernet are internal to the cluster and keep their
    address."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": kubeconfig},
        "clusterCIDR": str(supernet),
        "detectLocalMode": "ClusterCIDR",
        "healthzBindAddress": f"127.0.0.1:{KUBE_PROXY_HEALTH_PORT}",
        "metricsBindAddress": "127.0.0.1:10249",
        # node/performance.py sets the limit, by memory.
        "conntrack": {"maxPerCore": 0},
    }


def kubeconfig(environment: Environment, addresses: AddressPlan, *, credential: str) -> dict[str, Any]:
    """Return a kubeconfig for the API's load balancer; ``credential`` is the file of a certificate and its key."""
    name, user = environment.name, "kube-proxy"
    cluster = {"server": api_url(environment, addresses), "certificate-authority": f"{PKI}/{KUBERNETES_AUTHORITIES}"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user, "user": {"client-certificate": credential, "client-key": credential}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "current-context": name,
    }
