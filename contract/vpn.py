"""Limits of names and tokens in the VPN."""

from __future__ import annotations

MARK = 16
"""Number of characters of a laptop's mark in its certificate, a part of its key's digest. OpenVPN identifies a client
by both (``x509-username-field CN UID``): a laptop that reconnects with its key keeps its address and its
connections."""

LONGEST_NAME = 64 - 1 - MARK
"""Largest number of characters of a person's name: OpenVPN holds 64 for name and mark together (OpenVPN 2.6,
src/openvpn/common.h, ``TLS_USERNAME_LEN``)."""

MOST_TOKEN = 24_576
"""Largest number of characters of a token at a sign-in endpoint, which does not answer longer ones."""
