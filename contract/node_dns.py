"""The DNS cache of a node: where it answers, and its files. Rendered files and the node's own programs name them."""

from __future__ import annotations

ADDRESS = "169.254.20.10"
"""Address on which each node's cache answers, the one that Kubernetes' own has (kubernetes.io, "Using NodeLocal
DNSCache in Kubernetes Clusters"). It is the same on every node, link-local, and no cloud's."""
METRICS_PORT = 9253
"""Port of the cache's metrics, on loopback."""

FOLDER = "/etc/longhaul/node-dns"
COREFILE = f"{FOLDER}/Corefile"
KUBELET_SETTING = f"{FOLDER}/kubelet.conf"
"""The kubelet's setting that gives pods the cache. It takes effect on machines that have the cache."""
KUBELET_DROP_IN = "/etc/longhaul/kubelet.conf.d/20-node-dns.conf"
"""The same, where the kubelet reads it (``--config-dir``). The cache's unit puts it there."""
RESOLVER = "/run/longhaul-node-dns/resolv.conf"
"""Link to the file with the machine's own resolvers."""
