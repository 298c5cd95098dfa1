"""``longhaul kubeconfig``: an administrator's own way in."""
