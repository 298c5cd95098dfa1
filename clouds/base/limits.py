"""Limits of a site and its pools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Generic

from clouds.base.faults import Caution
from clouds.base.place import Place, SiteT
from clouds.base.ranges import SiteRanges


@dataclass(frozen=True, kw_only=True)
class Room:
    """One range of a site from which nodes of pools get their addresses."""

    zones: tuple[str, ...]
    """Zones whose nodes are in it."""
    range: IPv4Network
    nodes: int
    """Largest number of nodes in it, each with its pods' addresses."""


class SiteLimits(Generic[SiteT]):
    """Limits of a cloud's sites and pools, by which a file is checked without asking the cloud. None is known by
    default."""

    def rooms(self, site: SiteT, ranges: SiteRanges) -> tuple[Room, ...]:
        """Return the ranges from which nodes of pools get addresses, with the number of nodes that fit into each. No
        zone is in two of them. Empty when nothing is known, and for a site without pools."""
        return ()

    def peered(self, sites: int, pods_each: int) -> int | None:
        """Return the largest total number of nodes in ``sites`` sites whose networks are peered, with ``pods_each``
        addresses for pods on each node; None when the cloud sets no limit."""
        return None

    def cautions(self, place: Place[SiteT]) -> Iterator[Caution]:
        """Yield cautions about the site's region and its pools' machine types, from the cloud's dated table."""
        yield from ()
