"""Disks: the local SSD, and the gate that keeps etcd off a slow one.

Units: longhaul-disk-gate.service, longhaul-local-ssd.service, longhaul-node-ssd.service.
Settings: components/render/etcd.py, components/render/node_files.py.
Tests: tests/images/disks.
"""
