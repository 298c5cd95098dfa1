"""Restore of etcd clusters from backups."""
