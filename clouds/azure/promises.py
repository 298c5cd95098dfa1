"""Limits of a site in Azure and its pools: room for nodes, and a region that Azure has."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.azure import service_tags
from clouds.azure.site import AzureSite
from clouds.base.caution import Caution
from clouds.base.fitting import SiteRanges
from clouds.base.place import Place
from clouds.base.region_cautions import region_cautions
from clouds.base.regions import Regions
from clouds.base.room import Room

KEPT = 5
"""Addresses of a subnet that Azure keeps for itself (learn.microsoft.com, "Azure Virtual Network FAQ")."""


def rooms(site: AzureSite, ranges: SiteRanges, /) -> tuple[Room, ...]:
    """Return the one room of all zones. A node takes single addresses of the subnet: one of its own, and one for each
    pod (components/azure/pools.py)."""
    range_ = ranges.parts["nodes"]
    nodes = (range_.num_addresses - KEPT) // (1 + ranges.pods_each)
    return (Room(zones=tuple(site.zones), range=range_, nodes=max(nodes, 0)),)


def cautions(place: Place[AzureSite], /) -> Iterator[Caution]:
    """Yield the doubts about the site's region. A region that holds the control plane and has no service tag is refused
    (clouds/azure/checks.py). Azure publishes no list of types by region that needs no account."""
    if place.is_control and place.site.region not in service_tags.regions():
        return
    table = Regions(
        day=service_tags.DAY, source=service_tags.SOURCE, regions=dict.fromkeys(service_tags.regions(), 0), types={}
    )
    yield from region_cautions(place, table, title="Azure")
