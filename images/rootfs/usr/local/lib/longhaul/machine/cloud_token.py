"""Write a token of this machine's identity, for listing machines in the clouds, to the standard output, as JSON with
``token`` and ``until``, or with ``error``.

systemd starts it for each connection to one of two sockets. Only the node controller may open
longhaul-cloud-token.socket, and only the autoscaler longhaul-scaling-token.socket, which gives tokens of a separate
identity. The metadata service also gives tokens for the vault, so neither program can reach it.
"""

from __future__ import annotations

import sys

from contract.documents import cloud_token
from machine.managed_identity import OwnIdentity
from machine.metadata import METADATA, NotYetError

AUDIENCE = "https://management.azure.com/"
"""Audience of the token: Azure's resource manager. AWS accepts the same token, because there is no application of our
own in the directory (components/aws/web_identity.py names it as the audience)."""


def answer(*, part: str = "", metadata: str = METADATA) -> str:
    """Return the answer to one connection. ``part`` is the program whose own identity is used."""
    identity = OwnIdentity(audience=AUDIENCE, part=part, metadata=metadata)
    try:
        return cloud_token.to_text(identity.token(), identity.until)
    except NotYetError as error:
        return cloud_token.error_text(str(error))


def main() -> None:
    """Write the token."""
    sys.stdout.write(answer(part="".join(sys.argv[1:2])))
