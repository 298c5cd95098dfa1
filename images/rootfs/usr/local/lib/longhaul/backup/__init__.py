"""Backups of this member's etcd cluster: whose turn it is, the snapshot, where it goes, and its state.

Units: longhaul-backup.service, longhaul-backup.timer.
Settings: components/model/backups/section.py.
Tests: tests/images/backup.
"""
