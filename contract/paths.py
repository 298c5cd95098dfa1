"""Files and folders on machines that several programs use, except the documents (:mod:`contract.documents`)."""

from __future__ import annotations

PKI = "/etc/longhaul/pki"
"""Folder of a machine's certificates and keys."""
KUBERNETES_AUTHORITIES = "kubernetes-ca.crt"
"""File in :data:`PKI` with the authorities of API servers."""
KUBELET_KUBECONFIG = "/var/lib/kubelet/kubeconfig"
"""Kubeconfig of the kubelet and of kube-proxy. On a cloud's machine, node/join.py writes the file. On a host, the
kubelet writes it with its first certificate."""
SSD = "/var/lib/longhaul/ssd"
"""Mount point of a member's data disk."""
IMAGES = "/usr/share/longhaul/images"
"""Folder of the container images that are loaded at boot."""
VPN_MANAGEMENT = "/run/longhaul-vpn/management.sock"
"""Socket of OpenVPN's management, by which programs end sessions."""
