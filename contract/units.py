"""Units of systemd that several programs start, stop and check."""

from __future__ import annotations

KUBE_APISERVER = "kube-apiserver.service"
CONTROLLER_MANAGER = "kube-controller-manager.service"
ETCD = "etcd.service"
KUBELET = "kubelet.service"
