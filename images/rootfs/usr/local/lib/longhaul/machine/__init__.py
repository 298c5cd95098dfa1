"""Every machine: its configuration, metadata and identity, what its image is made of, and the command ``longhaul-
node``.

Units: longhaul-cloud-token@.service, longhaul-scaling-token@.service.
Settings: components/render/documents.py, components/render/node_files.py.
Tests: tests/images/machine.
"""
