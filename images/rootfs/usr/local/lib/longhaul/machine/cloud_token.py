"""Write a token of this machine's identity to the standard output, as JSON with ``token`` and ``until``, or with
``error``. The token is for requests to the clouds' interfaces.

systemd starts this program for each connection to one of two sockets. Only the node controller may open
longhaul-cloud-token.socket. Only the autoscaler may open longhaul-scaling-token.socket, which gives tokens of a
separate identity. Neither service can reach the metadata service itself, because that also gives tokens for the vault.
"""

from __future__ import annotations

import sys

from contract.documents import cloud_token
from machine.managed_identity import OwnIdentity
from machine.metadata import METADATA, NotYetError

AUDIENCE = "https://management.azure.com/"
"""Audience of the token: Azure's resource manager. AWS accepts the same audience (components/aws/web_identity.py),
because Longhaul has no application of its own in the directory."""


def answer(*, part: str = "", metadata: str = METADATA) -> str:
    """Return the answer to one connection. ``part`` names the identity of a service; empty for the machine's own
    identity."""
    identity = OwnIdentity(audience=AUDIENCE, part=part, metadata=metadata)
    try:
        return cloud_token.to_text(identity.token(), identity.until)
    except NotYetError as error:
        return cloud_token.error_text(str(error))


def main() -> None:
    """Write the token."""
    sys.stdout.write(answer(part="".join(sys.argv[1:2])))
