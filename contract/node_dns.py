"""The DNS cache of a node: where it answers, its files, and limits. Rendered files and the node's own programs name
them."""

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

POD_KIB_PER_S = 64
"""Questions of a pod, in KiB a second with their headers: some 650 of 100 bytes, which are 65 lookups of names of the
internet (five names, of two types each: kubernetes.io, "DNS for Services and Pods", ``ndots``). Bytes are counted, for
a packet may carry more than one question: by TCP, and by UDP with ``UDP_SEGMENT`` (udp(7)), which a veth interface
passes on whole."""
POD_BURST_KIB = 128
"""Questions that a pod may ask at once, in KiB: some 1,300, a lookup of each of 16 loaders for each of eight GPUs."""
LEAST_QUESTION_BYTES = 27
"""A question without headers: 12 bytes, a name of 11, as short as names get that a cache does not know yet, and 4
(RFC 1035, section 4.1)."""
ATTEMPTS, ATTEMPT_S = 2, 2
"""Attempts to have an answer, and seconds of each (CoreDNS 1.14, plugin/forward: ``read_timeout``). Meanwhile a
question has a place; without a limit of attempts, for six seconds."""
PLACES = 15_000
"""Questions that a server passes on at a time (``max_concurrent``). A pod that sends nothing but the least questions,
about a zone whose server never answers, takes 14,600 for a moment, and 9,700 for long; with ordinary packets, 6,700
and 4,500. A place takes 16 KiB (measured with CoreDNS 1.14.5)."""
