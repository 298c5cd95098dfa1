"""Checks of a site, its pools and the existing parts that it names, as far as the file alone tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic

from clouds.base.fault import Fault
from clouds.base.place import Place, SiteT


class SiteChecks(Generic[SiteT]):
    """Checks of sites in a cloud. Nothing is wrong by default."""

    def faults(self, place: Place[SiteT], earlier: Sequence[Place[SiteT]]) -> Iterator[Fault]:
        """Yield every fault of a site's pools and of the parts that it names. The cloud is not asked. ``earlier`` holds
        the cloud's sites that come before this one in the file, for faults between two sites."""
        yield from ()

    def network(self, site: SiteT) -> tuple[str, str] | None:
        """Return the key below ``existing`` and the id of the network that the site names; None when it names none."""
        return None
