"""The DNS cache of a node: its address, the packets that may reach it, and the kubelet's setting.

Units: longhaul-node-dns.service.
Settings: components/render/node_dns.py, contract/node_dns.py.
Install: tools.toml, images/image.toml, playbooks/roles/node.
Tests: tests/images/node_dns, tests/render/test_node_dns.py.
"""
