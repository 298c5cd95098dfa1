"""Limits of a site in AWS and its pools: room for nodes, and machine types that its region sells."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.aws.ranges import node_capacity
from clouds.aws.site import AwsSite
from clouds.base.faults import Caution
from clouds.base.limits import Room, SiteLimits
from clouds.base.place import Place
from clouds.base.ranges import SiteRanges
from clouds.base.regions import read_regions, region_cautions


class AwsSiteLimits(SiteLimits[AwsSite]):
    """Limits of sites in AWS and of their pools."""

    def rooms(self, site: AwsSite, ranges: SiteRanges) -> tuple[Room, ...]:
        """Return the room of each zone: a zone has a subnet of its own."""
        return tuple(
            Room(zones=(zone,), range=range_, nodes=node_capacity(range_))
            for zone, range_ in zip(site.zones, ranges.zones, strict=False)
        )

    def cautions(self, place: Place[AwsSite]) -> Iterator[Caution]:
        """Yield cautions about the site's region and zones and its pools' machine types."""
        yield from region_cautions(place, read_regions(__file__), title="AWS")
