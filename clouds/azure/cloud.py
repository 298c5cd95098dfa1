"""What there is to know of Azure, aspect by aspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clouds.azure.site import AzureSite

if TYPE_CHECKING:
    from clouds.base.cloud import (
        Checks,
        Control,
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


class Azure:
    """The cloud of every :class:`AzureSite`."""

    kind = "azure"
    title = "Azure"
    site_type = AzureSite
    holds_control_plane = True
    provider = "azure-native"
    rents = True

    @property
    def control(self) -> Control[AzureSite]:
        """Machines of a control plane, and its vault."""
        from clouds.azure import control

        return control

    @property
    def fleet(self) -> Fleet[AzureSite]:
        """Pools as the cloud has them."""
        from clouds.azure import fleet

        return fleet

    @property
    def groups(self) -> Groups[AzureSite]:
        """Groups that pools become."""
        from clouds.azure import groups

        return groups

    @property
    def listing(self) -> Listing[AzureSite]:
        """What the cloud itself lists of an environment."""
        from clouds.azure import listing

        return listing

    @property
    def machine_types(self) -> MachineTypes:
        """Machine types that need no declaration."""
        from clouds.azure import machine_types

        return machine_types

    @property
    def made(self) -> Made[AzureSite]:
        """Parts that are made, and parts that are there already."""
        from clouds.azure import made

        return made

    @property
    def picture(self) -> Picture:
        """How its sites are drawn."""
        from clouds.azure.picture import PICTURE

        return PICTURE

    @property
    def policy(self) -> Policy[AzureSite]:
        """Looks for what breaks a rule."""
        from clouds.azure import policy

        return policy

    @property
    def names(self) -> Names[AzureSite]:
        """Names that could become too long."""
        from clouds.azure import names

        return names

    @property
    def tunnels(self) -> Tunnels[AzureSite]:
        """Tunnels to a site."""
        from clouds.azure import tunnels

        return tunnels

    @property
    def doctor(self) -> Doctor[AzureSite]:
        """What has to be there before anything is made."""
        from clouds.azure import doctor

        return doctor

    @property
    def images(self) -> Images[AzureSite]:
        """Images that machines boot."""
        from clouds.azure import images

        return images

    @property
    def prices(self) -> Prices[AzureSite]:
        """Prices that are published."""
        from clouds.azure import prices

        return prices

    @property
    def checks(self) -> Checks[AzureSite]:
        """Parts that are named instead of made."""
        from clouds.azure import checks

        return checks

    @property
    def held(self) -> Held[AzureSite]:
        """Facts that stay."""
        from clouds.azure import held

        return held

    @property
    def machine_identity(self) -> MachineIdentity[AzureSite]:
        """Identities of machines."""
        from clouds.azure import machine_identity

        return machine_identity

    @property
    def tags(self) -> Tags[AzureSite]:
        """Tags that it takes."""
        from clouds.azure import tags

        return tags

    @property
    def node_controller(self) -> NodeController[AzureSite]:
        """Machines to the node controller."""
        from clouds.azure import node_controller

        return node_controller

    @property
    def user_data(self) -> UserData:
        """Data that a machine is born with."""
        from clouds.azure import user_data

        return user_data

    @property
    def resources(self) -> Resources:
        """Types of what is made."""
        from clouds.azure import resources

        return resources
