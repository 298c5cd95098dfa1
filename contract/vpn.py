"""Limits of names and tokens in the VPN."""

from __future__ import annotations

MARK = 16
"""Number of characters of a laptop's mark, which is in the laptop's certificate and is part of the digest of its key.
OpenVPN identifies a client by the person's name and the mark (``x509-username-field CN UID``), so a laptop that
reconnects with the same key keeps its address and its connections."""

LONGEST_NAME = 64 - 1 - MARK
"""Largest number of characters of a person's name. OpenVPN has room for 64 characters for name, separator and mark
together (OpenVPN 2.6, src/openvpn/common.h, ``TLS_USERNAME_LEN``)."""

MOST_TOKEN = 24_576
"""Largest number of characters of a token that a sign-in endpoint accepts."""
