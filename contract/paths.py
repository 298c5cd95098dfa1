"""Files and folders on machines that several programs use, except the documents (:mod:`contract.documents`)."""

from __future__ import annotations

PKI = "/etc/longhaul/pki"
"""Folder of a machine's certificates and keys."""
KUBERNETES_AUTHORITIES = "kubernetes-ca.crt"
"""File in that folder with the authorities of API servers."""
KUBELET_KUBECONFIG = "/var/lib/kubelet/kubeconfig"
"""Kubeconfig that the kubelet writes once it has its certificate; kube-proxy is on the same machine and uses it too."""
SSD = "/var/lib/longhaul/ssd"
"""Mount point of a member's data disk."""
IMAGES = "/usr/share/longhaul/images"
"""Folder of the container images that are loaded at boot."""
VPN_MANAGEMENT = "/run/longhaul-vpn/management.sock"
"""Socket through which OpenVPN is told to end sessions."""
