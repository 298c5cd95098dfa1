"""Backups of etcd clusters in their cloud's storage: the list, and which can be restored."""
