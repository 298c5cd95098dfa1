"""On-premises sites of an environment: nothing is made, but other sites and Ansible need data about them."""

from __future__ import annotations

from clouds.onprem.site import OnpremSite
from components.environment.cloud_resources import CloudResources
from components.environment.links import EndContext
from components.onprem.links import OnpremEnd


class OnpremResources(CloudResources):
    """The environment's on-premises sites. The racks exist already."""

    def link_end(self, place: EndContext) -> OnpremEnd:
        """Return a site's end of its links."""
        site = self._environment.sites[place.site]
        if not isinstance(site, OnpremSite):
            raise TypeError(f"{place.site} is {site.kind}, not on-premises")
        return OnpremEnd(site, place)
