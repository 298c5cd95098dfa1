"""The authority of the servers of the lab's depots. The authority's key is in the checkout, because it protects nothing
outside a lab: the authority's certificate is valid only for the lab's depots and loopback, and only environments in a
lab trust it."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from lab.cloud.pki import Pki, issue_server
from lab.hypervisor.addresses import DEPOT_NAME

AUTHORITY = Path(__file__).with_name("depot-authority.pem")
"""Certificate of the depot's authority, as environments in the lab have it (``depots.authority``)."""

_KEY = Path(__file__).with_name("depot-authority-key.pem")
_NAMES = (DEPOT_NAME, "127.0.0.1")


def server_context() -> ssl.SSLContext:
    """Return the TLS settings of a depot's server, with a new certificate."""
    with tempfile.TemporaryDirectory(prefix="longhaul-depot-") as name:
        folder = Path(name)
        pki = Pki(ca_certificate=AUTHORITY, server_certificate=folder / "server.pem", server_key=folder / "key.pem")
        issue_server(pki, _KEY, _NAMES)
        return pki.server_context()
