"""Lists what Nimbus itself has of an environment."""

from __future__ import annotations

from collections.abc import Iterator

from clouds.base.listing import PublicAddress
from clouds.base.place import Place
from nimbus.api import account
from nimbus.site import NimbusSite


def public_addresses(place: Place[NimbusSite], /) -> Iterator[PublicAddress]:
    """Yield the addresses whose holder has a name of the environment; the site's gateway may have one."""
    gateway = place.cloud_name(f"{place.environment}-links-{place.name}")
    for address, holder in account().get("addresses", {}).items():
        if holder.startswith(place.cloud_name(f"{place.environment}-")):
            yield PublicAddress(address=address, holder=holder, allowed=holder == gateway)


def remaining(place: Place[NimbusSite], /) -> list[str]:
    """Return the flocks and addresses that are left."""
    own = place.cloud_name(f"{place.environment}-")
    flocks = [name for name in account().get("flocks", {}) if name.startswith(own)]
    return [f"{name} in {place.site.region}" for name in (*flocks, *(one.address for one in public_addresses(place)))]
