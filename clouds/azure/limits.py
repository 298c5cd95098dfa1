"""Limits of a site in Azure and its pools: room for nodes, and the known zones and regions."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.azure import service_tags
from clouds.azure.site import AzureSite
from clouds.azure.zones import DAY, WITHOUT_ZONES, ZONES
from clouds.base.faults import Caution
from clouds.base.limits import Room, SiteLimits
from clouds.base.phrases import word_list
from clouds.base.place import Place
from clouds.base.ranges import SiteRanges
from clouds.base.regions import Regions, region_cautions
from contract.reasons.plan import FileReason

KEPT = 5
"""Addresses of a subnet that Azure keeps for itself (learn.microsoft.com, "Azure Virtual Network FAQ")."""

ADDRESSES = 65_536
"""Private addresses that a virtual network may have in use, however large its range (learn.microsoft.com, "Azure
subscription and service limits", virtual networks: "Private IP addresses per virtual network")."""

PEERED_ADDRESSES = 128_000
"""Private addresses that peered virtual networks may have in use together (same page: "Total Private Addresses for a
group of Peered Virtual networks"). Azure's support raises neither of these two limits."""

OTHERS = 64
"""Addresses of a site that are not for nodes: those of the control plane's machines (at most 29, and as many
replacements), of its load balancer, and of the VPN gateway."""


class AzureSiteLimits(SiteLimits[AzureSite]):
    """Limits of sites in Azure and of their pools."""

    def rooms(self, site: AzureSite, ranges: SiteRanges) -> tuple[Room, ...]:
        """Return one room: the subnet spans all zones. A node takes addresses one by one: one for itself, and one for
        each pod (components/azure/pools.py). Azure's limit for a network caps the number, however large the range."""
        range_ = ranges.parts["nodes"]
        nodes = min(range_.num_addresses - KEPT, ADDRESSES - OTHERS) // (1 + ranges.pods_each)
        return (Room(zones=tuple(site.zones), range=range_, nodes=max(nodes, 0)),)

    def peered(self, sites: int, pods_each: int) -> int | None:
        """Return the number of nodes for which peered networks have addresses."""
        return (PEERED_ADDRESSES - sites * OTHERS) // (1 + pods_each)

    def cautions(self, place: Place[AzureSite]) -> Iterator[Caution]:
        """Yield cautions about the site's zones and region. A control plane's region without a service tag causes no
        caution, because it is refused (clouds/azure/checks.py). There are no cautions about machine types, because
        Azure publishes no list of types by region without an account."""
        unknown = [zone for zone in place.site.zones if zone not in ZONES]
        if place.site.zones and place.site.region in WITHOUT_ZONES:
            write = "another region for the control plane" if place.is_control else "`zones: []`"
            yield Caution(
                reason=FileReason.UNKNOWN_ZONES,
                site=place.name,
                at=("sites", place.name, "zones"),
                wrong=f"{place.site.region} has no zones in Azure's list of {DAY}; {word_list(place.site.zones)} "
                f"{'is' if len(place.site.zones) == 1 else 'are'} named",
                write=f"{write}; or keep yours, if Azure has opened zones there since",
            )
        elif unknown:
            yield Caution(
                reason=FileReason.UNKNOWN_ZONES,
                site=place.name,
                at=("sites", place.name, "zones"),
                wrong=f"no region of Azure is known to have the zone {word_list(unknown)}: "
                f"they are called {word_list(ZONES)}",
                write=f"some of {word_list(ZONES)}",
            )
        if place.is_control and place.site.region not in service_tags.regions():
            return
        table = Regions(
            day=service_tags.DAY,
            source=service_tags.SOURCE,
            regions=dict.fromkeys(service_tags.regions(), ""),
            types={},
        )
        yield from region_cautions(place, table, title="Azure")
