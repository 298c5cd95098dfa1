"""Backups of etcd clusters in their cloud's storage: which there are, and what can be restored."""
