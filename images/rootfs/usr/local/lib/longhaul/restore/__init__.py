"""Restore of this member's etcd cluster from a backup: the steps on this machine, the data, and the units.

``longhaul-node restore`` (machine/longhaul_node.py) runs each step.

Settings: components/model/backups/section.py.
Tests: tests/images/restore.
"""
