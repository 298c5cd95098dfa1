"""On-premises: the operator's own racks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clouds.base.cloud import Cloud, Picture
from clouds.onprem.site import OnpremSite

if TYPE_CHECKING:
    from clouds.onprem.doctor import OnpremCloudDoctor
    from clouds.onprem.tunnels import OnpremSiteTunnels


class Onprem(Cloud[OnpremSite]):
    """The cloud of every :class:`OnpremSite`."""

    kind = "onprem"
    title = "on-prem"
    site_type = OnpremSite
    picture = Picture(title="Own racks", light="#227548", dark="#5cc48a", zones_have_ranges=False)
    rents = False

    @property
    def doctor(self) -> OnpremCloudDoctor:
        from clouds.onprem.doctor import OnpremCloudDoctor

        return OnpremCloudDoctor()

    @property
    def tunnels(self) -> OnpremSiteTunnels:
        from clouds.onprem.tunnels import OnpremSiteTunnels

        return OnpremSiteTunnels()
