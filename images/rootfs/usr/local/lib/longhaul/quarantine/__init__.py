"""Those who are refused: machines in quarantine and people whose access was revoked.

Units: longhaul-quarantine.service, longhaul-quarantine.socket.
Settings: components/render/quarantine.py, components/model/access/quarantine.py.
Tests: tests/images/quarantine.
"""
