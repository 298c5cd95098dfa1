"""Backups of this member's etcd cluster: whose turn it is, the snapshot, where it goes, and what is told of it."""
