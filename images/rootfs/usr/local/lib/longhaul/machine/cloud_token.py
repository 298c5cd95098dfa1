"""Write a token of this machine's identity for the clouds' listings to the standard output, as JSON with ``token`` and
``until``, or with ``error``.

systemd starts it for each connection to longhaul-cloud-token.socket, which the node controller alone may open, and to
longhaul-scaling-token.socket, which is the autoscaler's and gives tokens of an identity of its own. The metadata
service gives tokens for the vault as well, so neither of the two reaches it.
"""

from __future__ import annotations

import json
import sys

from machine.managed_identity import OwnIdentity
from machine.metadata import METADATA, NotYetError

AUDIENCE = "https://management.azure.com/"
"""Audience of the token: Azure's resource manager. AWS accepts the same token, because there is no application of our
own in the directory (components/aws/web_identity.py names it as the audience)."""


def answer(*, part: str = "", metadata: str = METADATA) -> str:
    """Return the answer to one connection. ``part`` is the program whose own identity is meant."""
    identity = OwnIdentity(audience=AUDIENCE, part=part, metadata=metadata)
    try:
        return json.dumps({"token": identity.token(), "until": identity.until})
    except NotYetError as error:
        return json.dumps({"error": str(error)})


def main() -> None:
    """Write the token."""
    sys.stdout.write(answer(part="".join(sys.argv[1:2])))
