"""Tunnels that end at an on-premises site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clouds.base.phrases import word_list
from clouds.base.place import Place
from clouds.base.site import SiteBase
from clouds.base.throughput import ThroughputLimit, mbit
from clouds.base.tunnels import Risk, SiteTunnels
from clouds.onprem.site import OnpremSite
from contract.reasons.plan import FileReason


class OnpremSiteTunnels(SiteTunnels[OnpremSite]):
    """Tunnels to sites in racks."""

    def ends(self, site: OnpremSite) -> tuple[str, ...]:
        """Return the names of the gateways."""
        return tuple(gateway.name for gateway in site.gateways)

    def addresses(self, site: OnpremSite) -> int:
        """Return the number of gateways, which have one address each."""
        return len(site.gateways)

    def gateway_limit(self, site: OnpremSite) -> ThroughputLimit | None:
        """Return the smallest capacity of the gateways, of which each takes over from the other; None unless the file
        declares it for all. Nobody publishes one for a machine of yours."""
        declared = [
            ThroughputLimit(mbit=mbit(gateway.capacity), of=f"{gateway.name} (as the file declares)")
            for gateway in site.gateways
            if gateway.capacity is not None
        ]
        return min(declared, key=lambda limit: limit.mbit) if len(declared) == len(site.gateways) else None

    def risks(self, place: Place[OnpremSite], others: Mapping[str, SiteBase]) -> Iterator[Risk]:
        """Yield the risk of a single gateway."""
        if len(place.site.gateways) == 1:
            yield Risk(
                reason=FileReason.ONE_GATEWAY,
                what=f"All tunnels of {place.name} end at one gateway, {place.site.gateways[0].name}.",
                where=f"sites.{place.name}.gateways",
                why=f"Without it, nothing passes between {place.name} and {word_list(list(others))} (docs/hosts.md).",
                do="Give the site a second gateway, and its routers a way to see which one works.",
            )
