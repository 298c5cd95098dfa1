"""etcd: how a member starts, joins, votes and leaves, and checks of its health.

Units: etcd.service, etcd-promote.service.
Settings: components/render/etcd.py, components/render/etcd_members.py; its disk: ``disks``.
Certificates: components/model/secrets/certificates.py.
Install: tools.toml, images/image.toml.
Tests: tests/images/etcd.
"""
