"""Refused clients: machines in quarantine, and people whose access was revoked.

Units: longhaul-quarantine.service, longhaul-quarantine.socket.
Settings: components/render/quarantine.py, contract/documents/quarantine.py, contract/documents/revoked.py.
Tests: tests/images/quarantine.
"""
