"""``longhaul restore``: restores etcd clusters from backups."""
