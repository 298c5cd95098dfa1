"""Limits of names and tokens in the VPN."""

from __future__ import annotations

MARK = 16
"""Number of characters of a laptop's mark in its certificate, a part of its key's digest. OpenVPN takes both for who is
connected (``x509-username-field CN UID``): a laptop that comes back with its key has its address, and goes on."""

LONGEST_NAME = 64 - 1 - MARK
"""Number of characters of the longest name of a person: OpenVPN holds 64 of name and mark (OpenVPN 2.6,
src/openvpn/common.h, ``TLS_USERNAME_LEN``)."""

MOST_TOKEN = 24_576
"""Most characters of a token that a sign-in endpoint takes. It does not answer a longer one."""
