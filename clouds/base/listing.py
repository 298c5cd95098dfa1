"""Resources of an environment that a cloud itself lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from clouds.base.place import Place, SiteT


@dataclass(frozen=True, kw_only=True)
class PublicAddress:
    """One public address of the environment."""

    address: str
    holder: str
    """Resource that the cloud reports as its holder, or ``nobody``."""
    allowed: bool
    """True when the holder may have a public address, such as a gateway, or when no resource holds the address."""


class ResourceListing(Generic[SiteT]):
    """Resources of an environment that the cloud itself lists, in a site or in the site's region; none by default.
    Every method raises ``CloudError`` when the cloud refuses or does not answer."""

    def public_addresses(self, place: Place[SiteT]) -> Iterator[PublicAddress]:
        """Yield the public addresses of the environment. Two sites of one region may yield the same address."""
        yield from ()

    def remaining(self, place: Place[SiteT]) -> list[str]:
        """Return one text for each resource of the environment that is still there, such as ``vpc-… in us-east-1``; an
        empty list when nothing is left."""
        return []
