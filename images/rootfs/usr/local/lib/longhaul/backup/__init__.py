"""Backups of this member's etcd cluster: the schedule, the snapshot, the storage, and the state.

Units: longhaul-backup.service, longhaul-backup.timer.
Settings: components/model/backups/section.py.
Tests: tests/images/backup.
"""
