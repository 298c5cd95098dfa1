"""``longhaul kubeconfig``: writes an administrator's kubeconfig."""
