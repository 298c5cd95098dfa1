"""Parts of every machine: its configuration, metadata and identity, its image's manifest, and the command
``longhaul-node``.

Units: longhaul-cloud-token@.service, longhaul-scaling-token@.service.
Settings: components/render/documents.py, components/render/node_files.py.
Tests: tests/images/machine.
"""
