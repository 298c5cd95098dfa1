"""Parts of a site that Longhaul makes, and existing ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from clouds.base.place import Place, SiteT
from clouds.base.prices import Part
from clouds.base.tunnels import Risk

MACHINE_CONNECTIONS = 256
"""Connections to one destination that are counted for each machine when a NAT gateway's addresses are counted: four a
second, each of whose ports rests for 65 s after the connection's end (azure-docs ``nat-gateway-resource.md``, "Port
Reuse Timers"). No port is set aside for a machine."""


class SiteParts(Generic[SiteT]):
    """Parts of a cloud's sites. By default, no part has a price, and no site names an existing part."""

    def hourly_parts(self, place: Place[SiteT], remote: int) -> Iterator[tuple[Part, int]]:
        """Yield the parts of the site's network that the cloud charges for by the hour, each with its number. The
        number may be 0. ``remote`` is the number of public addresses of the gateways at the other ends of the site's
        tunnels."""
        yield from ()

    def risks(self, place: Place[SiteT]) -> Iterator[Risk]:
        """Yield the risks of the parts that Longhaul makes, such as more of them than the cloud gives unasked."""
        yield from ()

    def existing_parts(self, site: SiteT) -> tuple[str, ...]:
        """Return a phrase for each existing part that the site names, such as ``VPC``; empty when it names none."""
        return ()

    def has_dns_zone(self, site: SiteT) -> bool:
        """Return whether the site names an existing zone for the environment's domain."""
        return False
