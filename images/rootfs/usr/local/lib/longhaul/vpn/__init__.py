"""Machines of the laptops' VPN: people who sign in, laptops' certificates, and laptops' sessions.

Units: longhaul-vpn.service, longhaul-vpn-door.service, longhaul-vpn-signer@.service.
Settings: components/render/vpn.py.
Install: images/image.toml.
Tests: tests/images/vpn.
"""
