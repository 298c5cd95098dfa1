"""Backups of the etcd clusters: section ``backups``."""
