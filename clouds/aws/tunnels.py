"""Tunnels that end at a site's gateway in AWS."""

from __future__ import annotations

from clouds.aws.site import AwsSite

TUNNELS = 2
"""Tunnels of one connection, each with an address of its own; a connection is to one address of the other side."""


def ends(_site: AwsSite, /) -> tuple[str, ...]:
    """Both tunnels of the connection to an address of the other side: the first of a gateway's is ``0-0``."""
    return tuple(f"0-{tunnel}" for tunnel in range(TUNNELS))
