"""Room for nodes of pools in a site's ranges."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network


@dataclass(frozen=True, kw_only=True)
class Room:
    """One range of a site from which nodes of pools get their addresses."""

    zones: tuple[str, ...]
    """Zones whose nodes are in it."""
    range: IPv4Network
    nodes: int
    """Largest number of nodes in it, each with its pods' addresses."""
