"""What there is to know of racks, aspect by aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clouds.onprem.site import OnpremSite

if TYPE_CHECKING:
    from clouds.base.cloud import (
        Checks,
        Doctor,
        Fleet,
        Groups,
        Held,
        Images,
        Listing,
        MachineIdentity,
        MachineTypes,
        Made,
        Names,
        NodeController,
        Policy,
        Prices,
        Resources,
        Tags,
        Tunnels,
        UserData,
    )
    from clouds.base.picture import Picture


class Onprem:
    """The cloud of every :class:`OnpremSite`."""

    kind = "onprem"
    title = "on-prem"
    site_type = OnpremSite
    holds_control_plane = False
    provider = ""
    rents = False
    control = None

    @property
    def fleet(self) -> Fleet[OnpremSite]:
        """Pools as the cloud has them."""
        from clouds.onprem import fleet

        return fleet

    @property
    def groups(self) -> Groups[OnpremSite]:
        """Groups that pools become."""
        from clouds.onprem import groups

        return groups

    @property
    def listing(self) -> Listing[OnpremSite]:
        """What nobody lists of an environment."""
        from clouds.onprem import listing

        return listing

    @property
    def machine_types(self) -> MachineTypes:
        """Machine types that need no declaration."""
        from clouds.onprem import machine_types

        return machine_types

    @property
    def made(self) -> Made[OnpremSite]:
        """Parts that are made, and parts that are there already."""
        from clouds.onprem import made

        return made

    @property
    def picture(self) -> Picture:
        """How its sites are drawn."""
        from clouds.onprem.picture import PICTURE

        return PICTURE

    @property
    def policy(self) -> Policy[OnpremSite]:
        """Looks for what breaks a rule."""
        from clouds.onprem import policy

        return policy

    @property
    def names(self) -> Names[OnpremSite]:
        """Names that could become too long."""
        from clouds.onprem import names

        return names

    @property
    def tunnels(self) -> Tunnels[OnpremSite]:
        """Tunnels to a site."""
        from clouds.onprem import tunnels

        return tunnels

    @property
    def doctor(self) -> Doctor[OnpremSite]:
        """What has to be there before anything is made."""
        from clouds.onprem import doctor

        return doctor

    @property
    def images(self) -> Images[OnpremSite]:
        """Images that machines boot."""
        from clouds.onprem import images

        return images

    @property
    def prices(self) -> Prices[OnpremSite]:
        """Prices that are published."""
        from clouds.onprem import prices

        return prices

    @property
    def checks(self) -> Checks[OnpremSite]:
        """Parts that are named instead of made."""
        from clouds.onprem import checks

        return checks

    @property
    def held(self) -> Held[OnpremSite]:
        """Facts that stay."""
        from clouds.onprem import held

        return held

    @property
    def machine_identity(self) -> MachineIdentity[OnpremSite]:
        """Identities of machines."""
        from clouds.onprem import machine_identity

        return machine_identity

    @property
    def tags(self) -> Tags[OnpremSite]:
        """Tags that it takes."""
        from clouds.onprem import tags

        return tags

    @property
    def node_controller(self) -> NodeController[OnpremSite]:
        """Machines to the node controller."""
        from clouds.onprem import node_controller

        return node_controller

    @property
    def user_data(self) -> UserData:
        """Data that a machine is born with."""
        from clouds.onprem import user_data

        return user_data

    @property
    def resources(self) -> Resources:
        """Types of what is made."""
        from clouds.onprem import resources

        return resources
