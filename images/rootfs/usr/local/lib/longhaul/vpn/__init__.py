"""Machines of the laptops' VPN: who signs in, their certificates, and their sessions.

Units: longhaul-vpn.service, longhaul-vpn-door.service, longhaul-vpn-signer@.service.
Settings: components/render/vpn.py.
Install: images/image.toml.
Tests: tests/images/vpn.
"""
