"""A worker node: how it finds its place, proves its identity and joins, its checks, its performance settings, and
notices that its cloud takes it back.

The other side of the proof is ``join_endpoint``.

Units: kubelet.service, longhaul-node-place.service, longhaul-node-performance.service, longhaul-interruption.service.
Settings: components/render/node_files.py, components/model/nodes.
Install: playbooks/roles/node.
Tests: tests/images/node.
"""
