"""Restore of this member's etcd cluster from a backup: what is done of it here, the data, and the units."""
