"""Ports of the machines of the laptops' VPN."""

from __future__ import annotations

PORT = 1194
"""UDP port of OpenVPN (IANA, "openvpn")."""

SIGN_IN_PORT = 443
"""TCP port of the sign-in endpoint."""
